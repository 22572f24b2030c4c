"""The heavy clients of the fairness bench, and its figures."""
import json
import socket
import tempfile
import threading
import time
import unittest
from collections import Counter
from pathlib import Path

from bench.abuse import http_wire, wire
from bench.fairness import metrics, report
from bench.fairness.bodies import BodyMaker
from bench.fairness.heavy import HeavyClients
from bench.fairness.load import Load, Traffic
from bench.fairness.measure import Figures, Heavy, Polite, Round
from bench.fairness.model import config, model_with_positions
from bench.fairness.probing import ProbeFigures

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


class HeavyClientsOfTheSocket(unittest.TestCase):
    def traffic(self, load, replies, until):
        """What clients of a service with these replies see, by when `until` seconds have passed."""
        service = _FakeService(replies)
        self.addCleanup(service.close)
        bodies = [load.body(BodyMaker(False, 1000))]
        heavy = HeavyClients(service.address, load, bodies, http=False)
        time.sleep(until)
        return heavy.stop()

    def test_obey_retry_after(self):
        load = Load(lambda maker: maker.score(3, 1, 1), in_flight=2, once=True)
        traffic = self.traffic(load, [[_refusal(0)], [_OK], [_refusal(1)], [_OK]], 0.5)
        self.assertEqual(traffic.outcomes, Counter({"queue_full": 2, "ok": 1}))
        self.assertEqual((traffic.sent, traffic.refused, traffic.retries, traffic.retries_admitted), (3, 2, 1, 0))
        self.assertEqual(traffic.retry_after, [0, 1])
        traffic = self.traffic(load, [[_refusal(0)], [_OK], [_OK]], 0.5)
        self.assertEqual((traffic.retries, traffic.retries_admitted, traffic.pending), (1, 1, 0))

    def test_keep_their_number_of_requests_in_flight(self):
        traffic = self.traffic(Load(lambda maker: maker.score(3, 1, 1), clients=2, in_flight=3), [[_OK]] * 10, 0.5)
        self.assertEqual((traffic.sent, traffic.pending, len(traffic.seconds)), (16, 6, 10))

    def test_of_an_open_loop_do_not_wait_for_replies(self):
        traffic = self.traffic(Load(lambda maker: maker.score(3, 1, 1), rate=60), [], 1.0)
        self.assertEqual(traffic.pending, traffic.sent)
        self.assertGreater(traffic.sent, 20)

    def test_measure_the_gaps_of_streams(self):
        load = Load(lambda maker: maker.stream(3, 3), once=True)
        traffic = self.traffic(load, [[_DELTA, _DELTA, _DELTA, _COMPLETION]], 0.5)
        self.assertEqual((len(traffic.gaps), traffic.outcomes["ok"]), (2, 1))
        unended = self.traffic(load, [[_DELTA, _DELTA]], 0.5)
        self.assertEqual((len(unended.gaps), unended.pending), (2, 1))
        self.assertGreater(unended.gaps[-1], 0.3)  # It lasts at the end.

    def test_go_on_if_a_connection_is_lost(self):
        listener = socket.create_server(("127.0.0.1", 0))
        load = Load(lambda maker: maker.score(3, 1, 1))
        heavy = HeavyClients(listener.getsockname(), load, [load.body(BodyMaker(False, 1000))], http=False)
        listener.accept()[0].close()
        again = listener.accept()[0]
        self.assertTrue(again.recv(1))
        traffic = heavy.stop()
        self.assertEqual((traffic.sent, traffic.outcomes.total(), traffic.pending), (2, 1, 1))
        again.close()
        listener.close()


class HttpReplies(unittest.TestCase):
    def replies(self, requests, data):
        """The replies in `data`, which comes byte by byte."""
        listener = socket.create_server(("127.0.0.1", 0))
        connection = http_wire.Connection(listener.getsockname())
        other = listener.accept()[0]
        for number in range(requests):
            connection.encoded(http_wire.Message(number + 1, b""))
        found = []
        for byte in data:
            other.sendall(bytes([byte]))
            connection.read()
            while response := connection.buffered():
                found.append(response)
        for each in (connection, other, listener):
            each.close()
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
        message = body.message(4, "a")
        fields = json.loads(message.data.partition(b"\r\n\r\n")[2])
        self.assertEqual((message.request_id, fields["cache_salt"], len(fields["query"])), (4, "a", 5))
        self.assertEqual(maker.documents(3, 4, 5).tokens, 17)
        self.assertIn(b'"stream": true', maker.stream(3, 8).message(1, "a").data)

    def test_of_the_socket_differ_in_id_and_salt_only(self):
        body = BodyMaker(False, 1000).score(5, 3, 2)
        self.assertEqual(body.message(1, "a"), body.message(1, "a"))
        self.assertEqual(len(body.message(1, "a")), len(body.message(2, "b")))


class Loads(unittest.TestCase):
    def test_have_a_connection_for_each_request_over_http(self):
        load = Load(lambda maker: None, clients=2, in_flight=8, http_in_flight=3, own_addresses=True)
        self.assertEqual((load.sources(False), load.on_connection(False)), (["127.0.1.1", "127.0.1.2"], 8))
        self.assertEqual(load.sources(True), ["127.0.1.1"] * 3 + ["127.0.1.2"] * 3)
        self.assertEqual(load.on_connection(True), 1)


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


class Rounds(unittest.TestCase):
    def round(self, gaps=()):
        heavy = Heavy(Traffic(sent=4, refused=1, retry_after=[3], outcomes=Counter(ok=3), seconds=[1.0], gaps=list(gaps)), 900.0, 50.0)
        return Round(bound_ms=200.0, peak=Heavy(Traffic(gaps=list(gaps)), 1000.0, 100.0), beside=heavy, after_mib=11.0,
                     alone=Polite(10.0, 12.0, Counter(), 5), polite=Polite(100.0, 315.0, Counter(queue_full=2), 5))

    def test_are_compared_with_what_is_wanted(self):
        self.assertAlmostEqual(self.round().over_wanted(), 0.5)
        self.assertAlmostEqual(self.round().goodput(), 0.9)
        unanswered = self.round()
        unanswered.polite = Polite(failures=Counter(queue_full=5), count=5)
        self.assertIsNone(unanswered.over_wanted())

    def test_stand_in_the_tables(self):
        figures = Figures("hog", "a hog", "socket", "this", 10.0, 12.0, [self.round([0.1, 0.3]), self.round([0.1, 0.3])])
        probe = ProbeFigures("tiny", "a score", "HTTP", "this", 200.0, [10.0], [100.0, 630.0])
        text = report.markdown([figures], [probe])
        self.assertIn("| 4 of 10: 4 queue_full | 200 (200-200) | 50 (50-50) | 0.50 (0.50-0.50) |", text)
        self.assertIn("| 25 % | 3 |  | 10 | 11 | 11 | 12 | 6 ok |", text)
        self.assertIn("| 300.0 (300.0-300.0) | 1.50 (1.50-1.50) | 6.00 (6.00-6.00) |", text)
        self.assertIn("| a score | HTTP | this | 10.0 (10.0-10.0) | 365.0 (100.0-630.0) | 200 | 1.82 (0.50-3.15) | 0.58 (0.16-1.00) |", text)
        document = json.loads(json.dumps(report.document([figures], [probe], {})))
        self.assertEqual(document["cases"][0]["rounds"][0]["beside"]["traffic"]["outcomes"], {"ok": 3})


if __name__ == "__main__":
    unittest.main()
