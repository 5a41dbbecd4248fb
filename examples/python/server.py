#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that answers with a model, from eight threads at once:

    server.py model.onnx --port 8000
    curl -d '{"x": [[1, 2, 3, 4]]}' http://localhost:8000

A request has lists for the inputs, by name, the answer for the outputs. What the model refuses is
status 400, with the reason. The library is made once, beside the model. Ctrl-C and SIGTERM end it.
"""
import argparse
import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import tessera

THREADS = 8


def answer(model: tessera.Model, request: bytes) -> tuple[int, dict]:
    try:
        feeds = json.loads(request)
        arrays = {port.name: np.asarray(feeds[port.name], port.dtype) for port in model.inputs}
        return 200, {name: y.tolist() for name, y in model.run(arrays).items()}
    except KeyError as missing:
        return 400, {"error": f"the input {missing} is missing"}
    except (ValueError, TypeError) as error:  # tessera.InputError is one
        return 400, {"error": str(error)}


def handler_of(model: tessera.Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            status, said = answer(model, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, *_):
            pass

    return Handler


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # clients that wait while others are answered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, default=8000, help="0: any that is free")
    options = parser.parse_args()
    library = options.model.with_suffix(".so")
    if not library.exists():
        tessera.compile(options.model, library, threads=1)
    # One thread a run: the requests are what runs at once. Each instance has memory of its own.
    model = tessera.Model(library, threads=1, instances=THREADS)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: sys.exit())
    with Server(("127.0.0.1", options.port), handler_of(model)) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
