"""The figures of the bench replicas, and what is read of a front."""
import random
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

from bench.company import wire
from bench.company.load import NO_REPLY, OK, Sample
from bench.replicas import cases, stub
from bench.replicas.cases import CASES, Settings, Setup
from bench.replicas.figures import Cpu, Hog, Latency, Survival, Throughput, markdown
from bench.replicas.processes import ready_line, ready_names


class ReplicasFigures(unittest.TestCase):
    def test_throughput_holds_if_ratio_and_failures_do(self):
        figures = Throughput("socket", direct=[100, 200, 100], through=[98, 190, 99], cpu_us=[40, 49, 70])
        self.assertEqual([round(ratio, 3) for ratio in figures.ratios()], [0.98, 0.95, 0.99])
        self.assertTrue(figures.holds())
        figures.failures["503"] = 1
        self.assertFalse(figures.holds())
        self.assertFalse(Throughput("HTTP", direct=[100], through=[96], cpu_us=[1]).holds())
        self.assertTrue(Throughput("HTTP", "nginx", direct=[100], through=[50], cpu_us=[900]).holds())

    def test_the_front_has_a_limit_of_cpu_before_a_stub(self):
        figures = Cpu("socket", rate=[1000] * 3, cpu_us=[40, 49, 70])
        self.assertTrue(figures.holds())
        figures.cpu_us = [40, 51, 70]
        self.assertFalse(figures.holds())
        figures.transport = "HTTP"
        self.assertTrue(figures.holds())
        figures.failures["503"] = 1
        self.assertFalse(figures.holds())
        self.assertTrue(Cpu("HTTP", "nginx", rate=[1], cpu_us=[900]).holds())

    def test_latency_is_that_which_the_front_adds(self):
        figures = Latency("HTTP", direct_ms=[2.0, 3.0, 2.0], through_ms=[2.25, 3.5, 2.2])
        self.assertEqual([round(ms, 2) for ms in figures.added()], [0.25, 0.5, 0.2])
        self.assertTrue(figures.holds())
        figures.through_ms = [2.25, 3.5, 2.5]
        self.assertFalse(figures.holds())

    def test_survival_needs_every_reply_and_its_bits(self):
        figures = Survival("kill -9", "socket", events=2, requests=10, milliseconds=[1.0] * 10)
        self.assertTrue(figures.holds())
        for fault in ({"failures": Counter({"replica_lost": 1})}, {"differences": 1}, {"events": 0}, {"requests": 0}):
            self.assertFalse(Survival(**(vars(figures) | fault)).holds())

    def test_hog_has_the_bound_of_a_fair_queue(self):
        figures = Hog("socket", alone_ms=[10.0] * 20, beside_ms=[30.0] * 19 + [900.0], bound_ms=200)
        self.assertEqual(figures.wanted_ms(), 630)
        self.assertTrue(figures.holds())
        figures.beside_ms = [30.0] * 18 + [900.0] * 2
        self.assertFalse(figures.holds())

    def test_each_kind_has_a_table(self):
        results = [Throughput("socket", direct=[100], through=[99], cpu_us=[40]),
                   Throughput("HTTP", "nginx", direct=[100], through=[90], cpu_us=[50]),
                   Cpu("HTTP", rate=[1000], cpu_us=[60]), Latency("socket", direct_ms=[1], through_ms=[1.1]),
                   Survival("SIGSTOP", "HTTP", 2, 30, [5.0, 7.0], Counter(), 4),
                   Hog("socket", [1.0], [2.0], 100)]
        text = markdown(results)
        self.assertEqual(len(text.split("\n\n")), 5)
        self.assertIn("| nginx | HTTP | 100.0 (100.0-100.0) | 90.0 (90.0-90.0) | 0.900 (0.900-0.900)", text)
        self.assertIn("| SIGSTOP | HTTP | 2 | 30 | 5 | 7 | 7 | 0 | 4 | 0 | yes |", text)
        self.assertEqual(markdown([]), "")


class ReplicasFront(unittest.TestCase):
    def test_reads_where_it_is(self):
        self.assertIsNone(ready_line("[info] replica a at 127.0.0.1:1 is connected\n"))
        self.assertEqual(ready_line("x\n12:00 info ready: requests on 127.0.0.1:7400, HTTP on 127.0.0.1:7480 (front on host n)\n"),
                         (("127.0.0.1", 7400), ("127.0.0.1", 7480)))

    def test_reads_which_replicas_are_ready(self):
        body = b'{"status":"ready","replicas":[{"name":"a","ready":true},{"name":"b","ready":false}]}'
        self.assertEqual(ready_names(body), ["a"])


class ReplicasStub(unittest.TestCase):
    def test_answers_on_the_socket_as_it_is_asked(self):
        ids = wire.number_field(1, 7)
        hello = dict(wire.fields_of(stub.reply_to(ids + wire.bytes_field(23, b""))))
        self.assertEqual(hello[1], 7)
        self.assertIn(wire.number_field(7, 1), hello[23])
        self.assertEqual(set(dict(wire.fields_of(stub.reply_to(ids + wire.bytes_field(2, b""))))), {1, 3, 24})
        self.assertEqual(set(dict(wire.fields_of(stub.reply_to(wire.bytes_field(9, b"") + ids)))), {1, 11, 24})
        self.assertEqual(stub.reply_to(ids + wire.bytes_field(22, b"")), b"")

    def test_answers_what_has_come_completely(self):
        for server, request in ((stub.FrameServer(), wire.frame(wire.number_field(1, 7))), (stub.HttpServer(), wire.post(b"{}"))):
            server.transport = mock.Mock()
            server.data_received(request + request[:-1])
            (first,), _ = server.transport.write.call_args
            server.data_received(request[-1:] + request)
            (second,), _ = server.transport.write.call_args
            self.assertEqual(second, first * 2)


class _FakeService:
    http_address = address = ("127.0.0.1", 1)


class _FakeFleet:
    """Notes what is done to it."""

    def __init__(self):
        self.services = {"a": _FakeService(), "b": _FakeService()}
        self.done = []

    def kill(self, name):
        self.done.append(("kill", name))
        del self.services[name]

    def drain(self, name, _):
        self.done.append(("drain", name))
        del self.services[name]

    def start(self, name):
        self.done.append(("start", name))
        self.services[name] = _FakeService()


class _FakeFront:
    address = ("127.0.0.1", 2)
    http_address = ("127.0.0.1", 3)

    def __init__(self, fleet):
        self._fleet = fleet

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._fleet.done.append(("end", "front"))

    def beside(self, _, ports=(0, 0)):
        self._fleet.done.append(("start", ports))
        return _FakeFront(self._fleet)

    def kill(self):
        self._fleet.done.append(("kill", "front"))

    def address_for(self, _):
        return ("127.0.0.1", 2)

    def wait_for(self, names):
        assert sorted(self._fleet.services) == sorted(names)

    def command(self, word, name):
        self._fleet.done.append((f"front {word}", name))


class _FakeClients:
    outcomes = [OK, OK]

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def pause(self):
        pass

    def stop(self, _=0.0):
        return mock.Mock(samples=[Sample("", time.monotonic(), 5.0, outcome) for outcome in self.outcomes])


class ReplicasCases(unittest.TestCase):
    def setUp(self):
        self.fleet = _FakeFleet()
        directory = self.enterContext(tempfile.TemporaryDirectory())
        settings = Settings(Path("scorecast"), Path(directory), 100, 0.01, 1, 3, 2, random.Random(1))
        self.setup_of = Setup(settings, self.fleet, _FakeFront(self.fleet), http=False)
        for name, value in (("Clients", _FakeClients), ("_RAMP_SECONDS", 0), ("_LEAST_PAUSE", 0), ("_MOST_PAUSE", 0)):
            self.enterContext(mock.patch.object(cases, name, value))
        self.results = self.enterContext(mock.patch.object(cases, "_results", side_effect=lambda *_: [b"same"] * 64))

    def test_a_killed_replica_is_started_again(self):
        (figures,) = CASES["kill"](self.setup_of)
        self.assertEqual([word for word, _ in self.fleet.done], ["kill", "start"] * 3)
        self.assertEqual((figures.events, figures.requests, figures.differences), (3, 2, 0))
        self.assertTrue(figures.holds())

    def test_a_replica_with_other_bits_is_told(self):
        self.results.side_effect = [[b"same"] * 64, [b"same"] * 64, [b"other"] + [b"same"] * 63]
        (figures,) = CASES["kill"](self.setup_of)
        self.assertEqual(figures.differences, 1)
        self.assertFalse(figures.holds())

    def test_a_request_without_a_reply_is_a_failure(self):
        with mock.patch.object(_FakeClients, "outcomes", [OK, NO_REPLY]):
            (figures,) = CASES["kill"](self.setup_of)
        self.assertEqual(figures.failures, Counter({NO_REPLY: 1}))
        self.assertFalse(figures.holds())

    def test_a_killed_front_is_started_again_where_it_was(self):
        with mock.patch.object(_FakeClients, "outcomes", [OK, OK]):
            (figures,) = CASES["front-kill"](self.setup_of)
        self.assertEqual(self.fleet.done, [("start", (0, 0)), *[("kill", "front"), ("start", (2, 3))] * 2, *[("end", "front")] * 3])
        self.assertEqual((figures.events, figures.lost), (2, 0))
        self.assertTrue(figures.holds())

    def test_only_clients_of_the_killed_front_may_lose_connections(self):
        stopped = iter([[OK, "closed", "closed: ConnectionResetError", "not connected: ConnectionRefusedError"], [OK, OK]])
        with mock.patch.object(_FakeClients, "stop", lambda *_: mock.Mock(
                samples=[Sample("", time.monotonic(), 5.0, outcome) for outcome in next(stopped)])):
            (figures,) = CASES["front-kill"](self.setup_of)
        self.assertEqual((figures.lost, figures.failures), (3, Counter()))
        self.assertTrue(figures.holds())
        stopped = iter([[OK, NO_REPLY], [OK, "closed"]])
        with mock.patch.object(_FakeClients, "stop", lambda *_: mock.Mock(
                samples=[Sample("", time.monotonic(), 5.0, outcome) for outcome in next(stopped)])):
            (figures,) = CASES["front-kill"](self.setup_of)
        self.assertEqual(figures.failures, Counter({NO_REPLY: 1, "closed": 1}))
        self.assertFalse(figures.holds())

    def test_an_upgrade_drains_one_replica_after_another(self):
        (figures,) = CASES["upgrade"](self.setup_of)
        self.assertEqual(self.fleet.done, [(word, name) for name in "ab"
                                           for word in ("front drain", "drain", "start", "front undrain")])
        self.assertEqual(figures.events, 2)


if __name__ == "__main__":
    unittest.main()
