"""Sends frames as they are from a device, frames on stdin, each behind its length (2 bytes).

python3 send.py DEVICE            as fast as they leave
python3 send.py DEVICE SECONDS    evenly over that time; says `begun` on stdout when an eighth of them has left
"""

import errno
import os
import socket
import struct
import sys
import time

# One processor, so that frames cannot overtake each other on their way through the queues of the kernel.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
device.bind((sys.argv[1], 0))
data = sys.stdin.buffer.read()
frames = []
at = 0
while at < len(data):
    (length,) = struct.unpack_from("!H", data, at)
    frames.append(data[at + 2 : at + 2 + length])
    at += 2 + length

PATIENCE_SECONDS = 20


def send(frame):
    """Again while the queue of the other end is full: what was refused was not sent."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            device.send(frame)
            return
        except OSError as error:
            if error.errno != errno.ENOBUFS or time.monotonic() > deadline:
                raise
            time.sleep(0.001)


seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0
begin = time.monotonic()
for index, frame in enumerate(frames):
    if seconds:
        if index == len(frames) // 8:
            print("begun", flush=True)
        early = begin + seconds * index / len(frames) - time.monotonic()
        # Asleep for a while rather than awake at every frame.
        if early > 0.001:
            time.sleep(early)
    send(frame)
