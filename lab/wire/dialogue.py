"""dialogue.py serve|ask udp|tcp ADDRESS PORT LINES [SECONDS]

Both ends of a protocol as its description has it, for games whose server is at no hand. LINES is JSON.
serve: [[PREFIX, ANSWER], ...] as hex: whatever begins with a prefix gets its answer. Says `ready`.
ask: [[SAID, PREFIX], ...]: says each line and waits, at most 15 s, for an answer that begins with the prefix; null waits
for none. Says `done`, or how far it came. Silent for SECONDS before the last line.
"""
import json
import select
import socket
import sys
import time

role, transport, address, port, lines, *silence = sys.argv[1:]
lines = [[None if one is None else bytes.fromhex(one) for one in line] for line in json.loads(lines)]
kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
end = socket.socket(socket.AF_INET, kind)
PATIENCE = 15


def answer_to(data):
    return next((answer for prefix, answer in lines if data.startswith(prefix)), None)


def serve():
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end.bind((address, int(port)))
    if transport == "tcp":
        end.listen(64)
    print("ready", flush=True)
    open_ones = {end}
    while True:
        for one in select.select(list(open_ones), [], [])[0]:
            if transport == "udp":
                data, peer = end.recvfrom(65535)
                if (answer := answer_to(data)) is not None:
                    end.sendto(answer, peer)
            elif one is end:
                open_ones.add(end.accept()[0])
            else:
                data = one.recv(65535)
                if not data:
                    open_ones.discard(one)
                    one.close()
                elif (answer := answer_to(data)) is not None:
                    one.sendall(answer)


def ask():
    end.settimeout(PATIENCE)
    end.connect((address, int(port)))
    for number, (said, prefix) in enumerate(lines):
        if silence and number == len(lines) - 1:
            time.sleep(float(silence[0]))
        end.send(said)
        if prefix is None:
            continue
        try:
            heard = end.recv(65535)
        except OSError:
            sys.exit(f"line {number} was not answered")
        if not heard.startswith(prefix):
            sys.exit(f"line {number} was answered by {heard[:32].hex()}")
    print("done", flush=True)


serve() if role == "serve" else ask()
