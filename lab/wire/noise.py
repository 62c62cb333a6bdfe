"""noise.py udp|syn|ack|fin ADDRESS PORT COUNT: packets from as many forged IPv4 sources, then says it is done."""
import random
import socket
import struct
import sys

kind, address, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
target = socket.inet_aton(address)
FLAGS = {"syn": 2, "ack": 16, "fin": 1}
protocol = 17 if kind == "udp" else 6


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


for number in range(count):
    source = struct.pack("!I", 0x0A000000 | number)
    source_port = random.randrange(1024, 65536)
    if kind == "udp":
        # No checksum: of IPv4 it may be left out.
        data = struct.pack("!4H", source_port, port, 12, 0) + b"nois"
    else:
        head = struct.pack("!HHIIBBH", source_port, port, random.getrandbits(32), 0, 5 << 4, FLAGS[kind], 64240)
        pseudo = source + target + struct.pack("!BBH", 0, 6, 20)
        data = head + struct.pack("!HH", checksum(pseudo + head + b"\0\0\0\0"), 0)
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(data), 0, 0, 64, protocol, 0, source, target)
    raw.sendto(header + data, (address, 0))
print("done", flush=True)
