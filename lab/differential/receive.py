"""Prints every frame that comes in by a device, a line of hexadecimal digits each.

python3 receive.py DEVICE
"""

import socket
import sys

PACKET_OUTGOING = 4
device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
device.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
device.bind((sys.argv[1], 3))
print("ready", flush=True)
while True:
    frame, (_, _, kind, _, _) = device.recvfrom(65536)
    if kind != PACKET_OUTGOING:
        print(frame.hex(), flush=True)
