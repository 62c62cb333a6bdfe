"""Sends frames as they are from a device: python3 send.py DEVICE, frames on stdin, each behind its length (2 bytes)."""

import os
import socket
import struct
import sys

# One processor, so that frames cannot overtake each other on their way through the queues of the kernel.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
device.bind((sys.argv[1], 0))
data = sys.stdin.buffer.read()
at = 0
while at < len(data):
    (length,) = struct.unpack_from("!H", data, at)
    device.send(data[at + 2 : at + 2 + length])
    at += 2 + length
