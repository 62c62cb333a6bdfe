"""tcp-end.py serve ADDRESS PORT: sends back what comes. tcp-end.py connect ADDRESS PORT SOURCE_PORT: a connection
driven by lines. tcp-end.py crowd ADDRESS PORT COUNT: so many connections, which stay open and say nothing.

Each line to a client is sent and awaited; it answers `echo`, or `reset`, `closed`, `silent` when it did not come back.
Each line to a server is sent to everybody who is connected; it answers `sent`.
"""
import socket
import sys
import threading
import time

role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
# Of a busy machine: what is lost is sent again after one, three and seven seconds.
PATIENCE = 10
family = socket.AF_INET6 if ":" in address else socket.AF_INET


def say(word):
    print(word, flush=True)


connections = []


def echo(connection):
    connections.append(connection)
    try:
        while data := connection.recv(4096):
            connection.sendall(data)
        say("closed")
    except ConnectionResetError:
        say("reset")
    finally:
        connections.remove(connection)
        connection.close()


def tell_all():
    for line in sys.stdin:
        for connection in list(connections):
            connection.sendall(line.encode())
        say("sent")


def answer(line):
    """What came of it; what the server says by itself is no answer."""
    received = b""
    deadline = time.monotonic() + PATIENCE
    while line not in received:
        end.settimeout(max(0.001, deadline - time.monotonic()))
        data = end.recv(4096)
        if not data:
            return "closed"
        received += data
    return "echo"


if role == "serve":
    listener = socket.create_server((address, port), family=family, backlog=512)
    say("ready")
    threading.Thread(target=tell_all, daemon=True).start()
    while True:
        threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()

if role == "crowd":
    crowd = [socket.create_connection((address, port), timeout=30) for _ in range(int(sys.argv[4]))]
    say("ready")
    sys.stdin.read()
    sys.exit()

end = socket.socket(family)
end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
end.bind(("", int(sys.argv[4])))
end.settimeout(PATIENCE)
end.connect((address, port))
say("ready")
for line in sys.stdin:
    try:
        end.sendall(line.encode())
        say(answer(line.encode()))
    except ConnectionResetError:
        say("reset")
    except TimeoutError:
        say("silent")
