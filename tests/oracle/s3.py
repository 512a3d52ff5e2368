"""An S3-compatible server on 127.0.0.1 that keeps everything in memory, with one empty bucket.

    s3.py BUCKET

Prints the port, or why there is no such server. Ends when its input does: with whoever started it, whatever happens to
that.
"""

import logging
import sys
import threading
import urllib.request

try:
    from moto.moto_server.werkzeug_app import (
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import make_server
except ImportError as error:
    sys.exit(print(error))


class OneByOne:
    """An application that does one request after the other.

    moto looks whether there is an object and writes it in two steps, between which other threads would run: of two
    writers that may only write where nothing is, both could be told that they did. Listings fail when objects go
    meanwhile. So what many clients do at once arrives one after the other: tests with this server show that the condition
    is sent, answered and understood, and not that a server keeps it between requests that come at the same time.
    """

    def __init__(self, application):
        self.application = application
        self.lock = threading.Lock()

    def __call__(self, environ, start_response):
        with self.lock:
            answer = self.application(environ, start_response)
            try:
                return list(answer)
            finally:
                if hasattr(answer, "close"):
                    answer.close()


class Handler(MotoRequestHandler):
    """Keeps connections open."""

    protocol_version = "HTTP/1.1"


# A line for each request takes longer than the request.
logging.getLogger("werkzeug").setLevel(logging.ERROR)

application = OneByOne(DomainDispatcherApplication(create_backend_app))
server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
direct.open(urllib.request.Request(f"http://127.0.0.1:{server.port}/{sys.argv[1]}", method="PUT"))
print(server.port, flush=True)
sys.stdin.read()
