"""The clients of the benches abuse and fairness, and their figures."""
import io
import itertools
import json
import socket
import tempfile
import threading
import time
import unittest
from collections import Counter
from pathlib import Path
from unittest.mock import patch

from bench.company import attacks, bounded, clients as clients_module, cores, metrics, report, wire
from bench.company.batch import _heads
from bench.company.bodies import BodyMaker
from bench.company.bounded import BoundedFigures
from bench.company.bounded_cases import BOUNDED
from bench.company.cases import ABUSES, FAIRNESS, FRESH, KEPT, LONG, polite_texts
from bench.company.clients import Clients
from bench.company.load import Load, Pipelined, Raw, Sample, Traffic
from bench.company.measure import Figures, Phase, Round
from bench.company.models import config, model_with_positions
from bench.company.probes import PROBES, ProbeFigures
from bench.company.soak import Memory, SoakResult, attack_list

_OK = wire.bytes_field(3, b"")
_DELTA, _COMPLETION = wire.bytes_field(5, b""), wire.bytes_field(4, b"")


def _refusal(retry_after):
    return wire.bytes_field(2, wire.number_field(1, 429) + wire.bytes_field(2, b"queue_full") + wire.number_field(5, retry_after))


class _FakeService:
    """Sends the replies of a list to the requests of the socket, one by one. A reply consists of one or more results."""

    def __init__(self, replies):
        self._replies = list(replies)
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        try:
            while True:
                threading.Thread(target=self._serve, args=self._listener.accept()[:1], daemon=True).start()
        except OSError:
            pass

    def _serve(self, connection):
        with connection, connection.makefile("rb") as frames:
            while size := frames.read(4):
                request_id = frames.read(int.from_bytes(size, "big"))[1]  # It is below 128.
                with self._lock:
                    results = self._replies.pop(0) if self._replies else []
                for result in results:
                    connection.sendall(wire.frame(wire.number_field(1, request_id) + result))


def _score(maker, _):
    return maker.score(3, 1, 1)


def _result(scores):
    return wire.bytes_field(3, wire.bytes_field(1, scores))


class ClientsOfTheSocket(unittest.TestCase):
    def start(self, load, replies):
        service = _FakeService(replies)
        self.addCleanup(service.close)
        bodies = [load.body(BodyMaker(False, 1000), number) for number in range(load.bodies)]
        clients = Clients(service.address, False, [(load, bodies)])
        self.addCleanup(clients.kill)
        return clients

    def traffic(self, load, replies, until):
        """What clients of a service with these replies see, by when `until` seconds have passed."""
        clients = self.start(load, replies)
        time.sleep(until)
        return clients.stop()

    def test_obey_retry_after(self):
        load = Load(_score, in_flight=2, once=True)
        traffic = self.traffic(load, [[_refusal(0)], [_OK], [_refusal(1)], [_OK]], 0.5)
        self.assertEqual(traffic.outcomes(), Counter({"queue_full": 2, "ok": 1}))
        self.assertEqual((traffic.sent, traffic.retries, traffic.retries_admitted), (3, 1, 0))
        self.assertEqual(traffic.retry_after, [0, 1])
        traffic = self.traffic(load, [[_refusal(0)], [_OK], [_OK]], 0.5)
        self.assertEqual((traffic.retries, traffic.retries_admitted, traffic.outcomes()["no reply"]), (1, 1, 0))

    def test_that_do_not_obey_send_their_next_request(self):
        traffic = self.traffic(Load(_score, obeys=False), [[_refusal(60)], [_OK]], 0.5)
        self.assertEqual(traffic.outcomes(), Counter({"queue_full": 1, "ok": 1, "no reply": 1}))
        self.assertEqual(traffic.retries, 0)

    def test_keep_their_number_of_requests_in_flight(self):
        traffic = self.traffic(Load(_score, clients=2, in_flight=3), [[_OK]] * 10, 0.5)
        self.assertEqual((traffic.sent, traffic.outcomes(), len(traffic.seconds())), (16, Counter({"ok": 10, "no reply": 6}), 10))

    def test_of_an_open_loop_do_not_wait_for_replies(self):
        traffic = self.traffic(Load(_score, rate=60, connections=16), [], 1.0)
        self.assertEqual(traffic.outcomes(), Counter({"no reply": traffic.sent}))
        self.assertGreater(traffic.sent, 20)

    def test_measure_the_gaps_of_streams(self):
        load = Load(lambda maker, _: maker.stream(3, 3), once=True)
        traffic = self.traffic(load, [[_DELTA, _DELTA, _DELTA, _COMPLETION]], 0.5)
        self.assertEqual((len(traffic.gaps), traffic.outcomes()["ok"]), (2, 1))
        unended = self.traffic(load, [[_DELTA, _DELTA]], 0.5)
        self.assertEqual((len(unended.gaps), unended.outcomes()["no reply"]), (2, 1))
        self.assertGreater(unended.gaps[-1], 0.3)  # It lasts at the end.

    def test_go_on_if_a_connection_is_lost(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        load = Load(_score)
        clients = Clients(listener.getsockname(), False, [(load, [load.body(BodyMaker(False, 1000), 0)])])
        listener.accept()[0].close()
        with listener.accept()[0] as again:
            self.assertTrue(again.recv(1))
            traffic = clients.stop()
        self.assertEqual((traffic.sent, traffic.outcomes()["no reply"]), (2, 1))
        self.assertEqual(sum(number for what, number in traffic.outcomes().items() if what.startswith("closed")), 1)

    def test_send_at_fixed_times_until_they_are_paused(self):
        clients = self.start(Load(_score, kind="a", interval=0.05, connections=1), [[_OK]] * 1000)
        time.sleep(1)
        clients.pause()
        paused = time.monotonic()
        self.assertIn(len(clients.seen(paused - 10)), range(8, 22))
        time.sleep(0.3)
        self.assertEqual(clients.seen(paused + 0.05), [])
        clients.resume()
        time.sleep(0.3)
        self.assertEqual({(sample.kind, sample.outcome) for sample in clients.seen(paused + 0.05)}, {("a", "ok")})

    def test_count_a_stall_for_every_request_that_is_due(self):
        traffic = self.traffic(Load(_score, interval=0.1, connections=1, patience=0.2), [], 1.0)
        given_up = [sample.ms for sample in traffic.samples if sample.ms > 190]
        self.assertGreater(len(given_up), 4)
        self.assertEqual(set(traffic.outcomes()), {"no reply"})

    def test_wait_for_the_last_replies_if_they_are_told_to(self):
        clients = self.start(Load(_score), [[]])
        self.assertEqual(clients.stop(0.1).outcomes(), Counter({"no reply": 1}))
        self.assertEqual(self.start(Load(_score, once=True), [[_OK]]).stop(5).outcomes(), Counter({"ok": 1}))

    def test_connect_for_each_request_if_they_are_fresh(self):
        traffic = self.traffic(Load(_score, interval=0.05, fresh=True), [[_OK]] * 3, 0.5)
        self.assertEqual(traffic.outcomes()["ok"], 3)
        self.assertGreater(traffic.outcomes()["no reply"], 2)  # They do not wait for each other.

    def test_connect_so_often_however_many_requests_of_another_load_wait(self):
        waiting, fresh = Load(_score, kind="waits", in_flight=5), Load(_score, kind="fresh", interval=0.05, fresh=True)
        service = _FakeService([])
        self.addCleanup(service.close)
        with patch.object(clients_module, "_MOST_CONNECTIONS", 3):
            clients = Clients(service.address, False, [(load, [load.body(BodyMaker(False, 1000), 0)]) for load in (waiting, fresh)])
        self.addCleanup(clients.kill)
        time.sleep(0.6)
        outcomes = Counter(sample.outcome for sample in clients.stop().samples if sample.kind == "fresh")
        self.assertEqual(outcomes["no reply"], 3)
        self.assertGreater(outcomes["not sent"], 1)

    def test_compare_the_bits_of_the_same_request(self):
        traffic = self.traffic(Load(_score, once=True, in_flight=3), [[_result(b"a")], [_result(b"a")], [_result(b"b")]], 0.5)
        self.assertEqual(traffic.outcomes(), Counter({"ok": 2, "other bits": 1}))
        others = self.traffic(Load(_score, bodies=2, once=True, in_flight=2), [[_result(b"a")], [_result(b"b")]], 0.5)
        self.assertEqual(others.outcomes(), Counter({"ok": 2}))

    def test_that_send_pieces_count_what_they_see(self):
        service = _FakeService([[_OK], [_refusal(1)]])
        self.addCleanup(service.close)
        request = BodyMaker(False, 1000).scores("a").message(1, "")
        clients = Clients(service.address, False, raw=Raw(lambda: [request[:5], request[5:] + request], wait=0.2, pause=60))
        time.sleep(1)
        self.assertEqual(clients.stop().counts, Counter({"connections": 1, "pieces": 2, "ok": 1, "queue_full": 1}))


    def test_that_send_endless_pieces_notice_that_the_connection_is_lost(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        clients = Clients(listener.getsockname(), False, raw=Raw(lambda: itertools.repeat(b"a" * 100)))
        self.addCleanup(clients.kill)
        listener.accept()[0].close()
        listener.accept()[0].close()
        outcomes = clients.stop().counts
        self.assertGreaterEqual(sum(number for what, number in outcomes.items() if what.startswith("closed")), 1)

    def test_that_pipeline_send_again_after_the_last_reply(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        request = wire.get("/metrics")
        clients = Clients(listener.getsockname(), True, raw=Pipelined(lambda: request * 2, 2, 1), is_hostile=True)
        self.addCleanup(clients.kill)
        connection = listener.accept()[0]
        self.addCleanup(connection.close)
        self.assertEqual(connection.recv(len(request) * 2, socket.MSG_WAITALL), request * 2)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 4")
        connection.settimeout(0.2)
        self.assertRaises(TimeoutError, connection.recv, 1)
        connection.sendall(b"29 Too Many Requests\r\n\r\n")
        connection.settimeout(5)
        self.assertEqual(connection.recv(len(request) * 2, socket.MSG_WAITALL), request * 2)
        self.assertEqual(clients.stop().counts, Counter({"replies 200": 1, "replies 429": 1}))

    def test_note_by_how_much_their_sleeps_are_late_unless_they_are_hostile(self):
        delays = self.traffic(Load(_score), [[_OK]], 0.5).delays
        self.assertGreater(len(delays), 5)
        self.assertGreaterEqual(min(ms for _, ms in delays), 0)
        clients = Clients(("127.0.0.1", 9), True, is_hostile=True)
        self.addCleanup(clients.kill)
        self.assertEqual(clients.stop().delays, [])


class HttpReplies(unittest.TestCase):
    def replies(self, requests, data):
        """The replies in `data`, which comes byte by byte."""
        replies = wire.replies(http=True)
        for number in range(requests):
            replies.expect(number + 1)
        found = []
        for byte in data:
            replies.feed(bytes([byte]))
            while response := replies.next():
                found.append(response)
        return found

    @staticmethod
    def stream(*events):
        parts = [b"data: " + event + b"\n\n" for event in events]
        chunks = [f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts]
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(chunks) + b"0\r\n\r\n"

    def test_of_a_stream_are_its_deltas_and_the_response(self):
        delta = b'{"object":"chunked.delta","question":0}'
        data = self.stream(delta, delta, b'{"object":"chunked"}', b"[DONE]") + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
        seen = [(r.request_id, r.is_final, r.code) for r in self.replies(2, data)]
        self.assertEqual(seen, [(1, False, 200), (1, False, 200), (1, True, 200), (2, True, 200)])

    def test_of_a_stream_may_end_with_an_error(self):
        data = self.stream(b'{"object":"chunked.delta"}', b'{"code":504,"reason":"deadline_passed"}', b"[DONE]")
        last = self.replies(1, data)[-1]
        self.assertEqual((last.is_final, last.code, last.reason), (True, 504, "deadline_passed"))

    def test_in_chunks_are_whole_responses(self):
        content = b'{"count":2,"tokens":[7,9],"timings":{"tokenize_ms":1,"total_ms":3.5}}'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunked = head + b"9\r\n" + content[:9] + b"\r\n%x\r\n" % len(content[9:]) + content[9:] + b"\r\n0\r\n\r\n"
        whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content
        first, second, third = self.replies(3, chunked + whole + chunked)
        self.assertEqual((first.request_id, second.request_id, third.request_id), (1, 2, 3))
        self.assertEqual((first.result, first.phases), (second.result, second.phases))
        self.assertEqual((first.result, third.phases), (b"[null, [7, 9]]", wire.Phases(1, 0, 0, 3.5)))

    def test_say_when_to_try_again(self):
        body = b'{"reason":"queue_full"}'
        head = f"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        refusal, = self.replies(1, head + body)
        self.assertEqual((refusal.code, refusal.reason, refusal.retry_after), (429, "queue_full", 7))


class Bodies(unittest.TestCase):
    def test_have_the_salt_and_the_tokens(self):
        maker = BodyMaker(True, 1000)
        body = maker.score(5, 3, 2)
        self.assertEqual(body.tokens, 11)
        fields = json.loads(body.message(4, "a").partition(b"\r\n\r\n")[2])
        self.assertEqual((fields["cache_salt"], len(fields["query"])), ("a", 5))
        self.assertEqual(maker.documents(3, 4, 5).tokens, 17)
        self.assertIn(b'"stream": true', maker.stream(3, 8).message(1, "a"))

    def test_of_texts_have_no_salt(self):
        self.assertNotIn(b"salt", BodyMaker(True, 1000).scores("a").message(1, "salt"))
        self.assertNotIn(b"salt", BodyMaker(False, 1000).scores("a").message(1, "salt"))

    def test_to_a_classifier_have_no_labels(self):
        self.assertIn(b"label_token_ids", BodyMaker(True, 1000).text(64).content)
        text = BodyMaker(True, 1000, labels=None).text(64)
        self.assertNotIn(b"label_token_ids", text.content)
        self.assertEqual(text.tokens, 64)

    def test_of_the_socket_differ_in_id_and_salt_only(self):
        body = BodyMaker(False, 1000).score(5, 3, 2)
        self.assertEqual(body.message(1, "a"), body.message(1, "a"))
        self.assertEqual(len(body.message(1, "a")), len(body.message(2, "b")))

    def test_of_the_socket_are_messages_of_the_contract(self):
        message = BodyMaker(False, 1000).scores("q", ["a", [7]], timeout_ms=50).message(3, "")
        expected = b"\x08\x03" + wire.bytes_field(2, b"\x0a\x03\x0a\x01q" b"\x12\x03\x0a\x01a" b"\x12\x05\x12\x03\x0a\x01\x07"
                                                   b"\x1a\x06\x0a\x04\x0a\x02\x05\x07" b"\x58\x32")
        self.assertEqual(message, wire.frame(expected))

    def test_of_the_socket_may_have_a_negative_priority(self):
        content = BodyMaker(False, 1000).score(1, priority=-10).content
        self.assertTrue(content.endswith(b"\x80\x01" + b"\xf6" + b"\xff" * 8 + b"\x01"))

    def test_of_repeated_text_have_the_size_in_the_encoding_of_the_transport(self):
        for http in (False, True):
            self.assertAlmostEqual(len(BodyMaker(http, 1000).repeated("\N{GRINNING FACE}", 12_000).message(1, "")), 12_150, delta=150)


class Loads(unittest.TestCase):
    def test_have_a_connection_for_each_request_over_http(self):
        load = Load(_score, clients=2, in_flight=8, http_in_flight=3, own_addresses=True)
        self.assertEqual((load.sources(False), load.on_connection(False)), (["127.0.1.1", "127.0.1.2"], 8))
        self.assertEqual(load.sources(True), ["127.0.1.1"] * 3 + ["127.0.1.2"] * 3)
        self.assertEqual(load.on_connection(True), 1)


class Cases(unittest.TestCase):
    def test_have_names_of_their_own(self):
        for cases in (ABUSES, [*FAIRNESS, *PROBES]):
            names = [case.name for case in cases]
            self.assertEqual(len(names), len(set(names)))

    def test_of_polite_texts_differ_by_number_and_not_by_kind(self):
        self.assertEqual([load.connections for load in polite_texts((KEPT, FRESH, LONG), True, 1000, 30)], [None] * 3)
        kept, fresh, long = polite_texts((KEPT, FRESH, LONG), False, 1000, 30)
        self.assertEqual([load.connections for load in (kept, fresh, long)], [1, None, 1])
        maker = BodyMaker(False, 1000)
        self.assertEqual(kept.body(maker, 1), fresh.body(maker, 1))
        self.assertNotEqual(kept.body(maker, 1), kept.body(maker, 2))
        self.assertGreater(len(long.body(maker, 1).message(1, "")), 65_536)

    def test_are_soaked_on_their_transports(self):
        found = attack_list()
        self.assertIn((False, attacks.EMPTY_MESSAGES), found)
        self.assertIn((True, attacks.GZIP_BOMBS), found)
        self.assertIn((False, attacks.EMOJI), found)
        self.assertIn((True, attacks.EMOJI), found)
        self.assertNotIn((True, attacks.IDLE), found)
        self.assertEqual(len(found), len(set(found)))

    def test_mutate_frames(self):
        good = BodyMaker(False, 1).scores("Is it so?", [" yes", " no"] * 10).message(1, "")
        frames, = attacks.MUTATED_FRAMES.pieces()
        self.assertEqual((len(frames), frames == good * 20), (20 * len(good), False))


class BoundedCases(unittest.TestCase):
    def test_have_names_that_no_abuse_has(self):
        names = [case.name for case in (*ABUSES, *BOUNDED)]
        self.assertEqual(len(names), len(set(names)))

    def test_want_what_the_sharing_of_the_cpu_allows(self):
        cases = {case.name: case for case in BOUNDED}
        self.assertEqual(cases["scrapes"].wanted_ms(3, 200), 53)
        self.assertEqual(cases["short-of-cpu"].wanted_ms(12, 200), 212)
        self.assertEqual(cases["many-addresses"].wanted_ms(10, 200), 630)

    def test_have_polite_clients_in_another_network_if_addresses_are_many(self):
        for case in BOUNDED:
            networks = {source.rpartition(".")[0] for load in case.company if isinstance(load, Load) and load.own_addresses
                        for source in load.sources(True)}
            self.assertNotIn(case.polite_source.rpartition(".")[0], networks)

    def test_send_texts_of_the_sizes_that_they_tell(self):
        cases = {case.name: case for case in BOUNDED}
        load, = cases["long-texts"].polite(True, 0, 0, 1)
        self.assertAlmostEqual(len(load.body(BodyMaker(True, 1), 3).message(1, "")), 2100, delta=100)
        load, = cases["long-texts"].company
        self.assertAlmostEqual(len(load.body(BodyMaker(True, 1), 0).message(1, "")), 15_000_000, delta=1000)
        posts = cases["refused-posts"].company[0].requests()
        self.assertAlmostEqual(len(posts) / 4, 58_000, delta=300)

    def figures(self, polite, beside=(), after=((1.0, "ok"),)):
        probes = {"alone": [], "beside": _samples((1.0, "ok"), *beside, kind="/health") + _samples((1.0, "ok"), kind="/ready"),
                  "after": _samples(*after, kind="/health") + _samples((1.0, "ok"), kind="/ready")}
        return BoundedFigures("a", "an abuse", "this", {"HTTP": 50.0}, {"HTTP": _samples((2.0, "ok"))}, {"HTTP": polite}, probes,
                              {"HTTP": [1.0]}, 10, 20, 15)

    def test_hold_if_one_in_twenty_polite_requests_is_late_or_fails(self):
        good = _samples(*[(49.0, "ok")] * 19)
        self.assertTrue(self.figures(good + _samples((60.0, "ok"))).holds())
        self.assertTrue(self.figures(good + _samples((1.0, "queue_full"))).holds())
        self.assertFalse(self.figures(good + _samples((1.0, "queue_full"), (51.0, "ok"))).holds())
        self.assertFalse(self.figures([]).holds())

    def test_hold_if_one_probe_in_a_hundred_takes_less_than_a_second(self):
        good = _samples((1.0, "ok"))
        most = [(1.0, "ok")] * 98
        self.assertTrue(self.figures(good, [*most, (999.0, "ok")]).holds())
        self.assertFalse(self.figures(good, [*most, (1001.0, "ok")]).holds())
        self.assertFalse(self.figures(good, [*most, (999.0, "ok"), (101.0, "ok")]).holds())
        self.assertFalse(self.figures(good, [*most, (5.0, "503")]).holds())
        self.assertFalse(self.figures(good, after=[(101.0, "ok")]).holds())

    def test_hold_if_probes_at_a_port_of_their_own_do(self):
        figures = self.figures(_samples((1.0, "ok")), beside=[(2000.0, "ok")])
        self.assertFalse(figures.holds())
        for phase in ("beside", "after"):
            figures.probes[phase] += _samples((1.0, "ok"), kind="/health, own port")
        self.assertTrue(figures.holds())
        figures.probes["after"] += _samples((1.0, "ok"), (2000.0, "ok"), kind="/ready, own port")
        self.assertFalse(figures.holds())

    def test_stand_in_the_tables(self):
        slow = [sample._replace(phases=wire.Phases(1, 2, 3, 10)) for sample in _samples((60.0, "ok"))]
        text = bounded.markdown([self.figures(_samples((4.0, "ok")) + slow, after=[(1.0, "503")])])
        self.assertIn("| an abuse | HTTP | this | 2.0 | 2.0 | 4.0 | 60.0 | 60.0 | 30.0 | 50 | NO | 0 of 2 | "
                      "outside 50, tokenize 1, queue 2, forward 3, total 10 | 1.0, 1.0 |", text)
        self.assertIn("| an abuse | /health | this |    | 1.0 1.0 1.0 |   ; 1 503 | yes | NO |", text)
        self.assertIn("| an abuse | this | 10 | 20 | 15 |  |  |", text)


class Cores(unittest.TestCase):
    def test_are_shared_only_if_there_is_no_other(self):
        self.assertEqual(cores.split({2, 5, 7}), cores.Cores(frozenset({2}), frozenset({5, 7})))
        self.assertEqual(cores.split({4}), cores.Cores(frozenset({4}), frozenset({4})))
        self.assertIn("one CPU only", cores.split({4}).note())


class Batches(unittest.TestCase):
    def test_count_complete_records(self):
        self.assertEqual(_heads(io.BytesIO(b"a" * 1000 + b"\nb\n" + b"c" * 500)), ["a" * 400, "b\n"])


class Metrics(unittest.TestCase):
    def test_are_summed_up_over_labels(self):
        text = '# HELP a b\na{rank="0"} 1.5\na{rank="1"} 2\nb 3\n'
        self.assertEqual(metrics.parse(text), {"a": 3.5, "b": 3.0})


class Models(unittest.TestCase):
    def test_get_more_positions_only_if_they_need_them(self):
        with tempfile.TemporaryDirectory() as work:
            model = Path(work) / "tiny"
            model.mkdir()
            (model / "config.json").write_text('{"max_position_embeddings":100,"vocab_size":9}')
            (model / "model.safetensors").write_text("weights")
            self.assertEqual(model_with_positions(str(model), Path(work), 100), model)
            longer = model_with_positions(str(model), Path(work), 200)
            self.assertEqual(config(longer), {"max_position_embeddings": 200, "vocab_size": 9})
            self.assertEqual((longer / "model.safetensors").read_text(), "weights")


def _samples(*outcomes, kind=""):
    return [Sample(kind, 0.0, ms, outcome) for ms, outcome in outcomes]


class Rounds(unittest.TestCase):
    def round(self, gaps=()):
        traffic = Traffic(sent=4, samples=_samples((1000.0, "ok"), *[(5.0, "queue_full")]), retry_after=[3], gaps=list(gaps))
        polite = _samples((100.0, "ok"), (100.0, "ok"), (315.0, "ok"), (1.0, "queue_full"), (1.0, "queue_full"))
        return Round(Phase(traffic, 900.0, 50.0), 11.0, Phase(Traffic(gaps=list(gaps)), 1000.0, 100.0), 200.0,
                     _samples((10.0, "ok"), (12.0, "ok")), polite)

    def test_are_compared_with_what_is_wanted(self):
        self.assertAlmostEqual(self.round().over_wanted(), 0.5)
        self.assertAlmostEqual(self.round().goodput(), 0.9)
        unanswered = self.round()
        unanswered.polite = _samples((1.0, "queue_full"))
        self.assertIsNone(unanswered.over_wanted())

    def test_stand_in_the_tables(self):
        figures = Figures("hog", "a hog", "socket", "this", 10.0, 12.0, [self.round([0.1, 0.3]), self.round([0.1, 0.3])])
        probe = ProbeFigures("tiny", "a score", "HTTP", "this", 200.0, [10.0], [100.0, 630.0])
        text = report.markdown("heavy clients", [figures, probe])
        self.assertIn("| 10.0 (10.0-10.0) | 12.0 (12.0-12.0) | 100.0 (100.0-100.0) | 315.0 (315.0-315.0) | 10.0 (10.0-10.0) |", text)
        self.assertIn("| 4 of 10: 4 queue_full | 200 (200-200) | 50 (50-50) | 0.50 (0.50-0.50) |", text)
        self.assertIn("| 25 % | 3 | 10 | 11 | 11 | 12 | 2 ok, 2 queue_full |", text)
        self.assertIn("| 300.0 (300.0-300.0) | 1.50 (1.50-1.50) | 6.00 (6.00-6.00) |", text)
        self.assertIn("| a score | HTTP | this | 10.0 (10.0-10.0) | 365.0 (100.0-630.0) | 200 | 1.82 (0.50-3.15) | 0.58 (0.16-1.00) |", text)
        document = json.loads(json.dumps([figures, probe], default=vars))
        self.assertEqual(document[0]["rounds"][0]["beside"]["traffic"]["sent"], 4)

    def test_of_abuses_have_rows_of_long_messages_and_no_empty_columns(self):
        alone = _samples((1.0, "ok"), kind=KEPT) + _samples((4.0, "ok"), kind=LONG)
        beside = _samples((2.0, "ok"), (30_000.0, "no reply"), kind=KEPT) + _samples((12.0, "other bits"), (6.0, "ok"), kind=LONG)
        figures = Figures("a", "an abuse", "HTTP", "this", 10.0, 12.0, [Round(Phase(), 11.0, alone=alone, polite=beside)],
                          end=Traffic(counts=Counter(closed=1)), end_limit=60.0, notes=["a note"])
        text = report.markdown("abuse", [figures])
        self.assertIn("| 2.0 (2.0-2.0) | >30000.0 (30000.0-30000.0) | 2.0 (2.0-2.0) | 30000.0 (30000.0-30000.0) | 1 of 2: 1 no reply |", text)
        self.assertIn("| an abuse, long messages | HTTP | this | 4.0 (4.0-4.0) | 4.0 (4.0-4.0) | 6.0 (6.0-6.0) |", text)
        self.assertIn("| an abuse | HTTP | this | 10 | 11 | 11 | 12 | over 60 | a note; at the end: 1 closed |", text)
        self.assertNotIn("bound of a pass", text)


class Soaks(unittest.TestCase):
    def result(self, memory_at_the_end, *outcomes):
        result = SoakResult(1.0, {"beside": _samples((1.0, "ok"), *((1.0, outcome) for outcome in outcomes))},
                            [Memory(when, 0, 0, 0, held) for when, held in
                             (("at first", 50), ("after a third", 100), ("at the end", memory_at_the_end))])
        result.judge()
        return result

    def test_have_no_fault_if_polite_clients_are_refused(self):
        self.assertIn("No fault.", self.result(160, "queue_full").markdown())

    def test_fail_if_polite_clients_are_lost_or_memory_grows(self):
        self.assertEqual(self.result(100, "closed: BrokenPipeError").faults, ["1 polite requests: closed: BrokenPipeError"])
        self.assertEqual(self.result(100, "other bits").faults, ["1 polite requests: other bits"])
        self.assertEqual(self.result(165).faults, ["the memory grew from 100 to 165 MiB"])


if __name__ == "__main__":
    unittest.main()
