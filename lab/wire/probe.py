"""Sends crafted packets and tells what arrives, from inside a network namespace.

Node has no raw sockets. One JSON object a line: commands on stdin, events on stdout.
  in   {"id": 1, "packet": {"family", "source", "destination", "protocol", "source_port",
        "destination_port", "icmp": [type, code], "hop_limit", "fragments", "marker"}}
       {"id": 2}              answered when everything that had arrived before is reported
       {"id": 3, "stream": {"name": "0001", "every": 0.001, "packets": [...]}}    sends one of each in every
                              interval, the marker of the Nth of packet P being name, P and N in 4, 2 and 10 hex digits
       {"id": 4, "halt": "0001"}    ends it
  out  {"ready": true}   {"sent": 1}   {"failed": 1, "reason": "..."}
       {"sent": 4, "times": [...], "unsent": [N, ...]}    when each was sent (Unix time in ms), and which were not
       {"seen": "<marker>", "protocol": 17, "source": "192.0.2.7"}
A marker is 16 hex digits, carried in the payload behind "PCL:". What arrives is read from raw sockets,
so it has passed every hook of this namespace and is whole again.
"""

import json
import os
import re
import selectors
import socket
import struct
import sys
import time

TCP, UDP, GRE, ESP, ICMP, ICMPV6, FRAGMENT = 6, 17, 47, 50, 1, 58, 44
SCTP = 132
MARKER = re.compile(rb"PCL:([0-9a-f]{16})")
# From linux/in6.h; not in the socket module.
IPV6_HDRINCL = 36
# From asm-generic/socket.h. Python is not always in time for a thousand packets a second.
SO_RCVBUFFORCE = 33
RECEIVE_BYTES = 16 << 20
# A stream uses its ports again, or it would fill the connection tracking that it passes.
PORTS = 2000


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pseudo_header(packet, length):
    source = socket.inet_pton(af(packet), packet["source"])
    destination = socket.inet_pton(af(packet), packet["destination"])
    if packet["family"] == 4:
        return source + destination + struct.pack("!BBH", 0, packet["protocol"], length)
    return source + destination + struct.pack("!IHBB", length, 0, 0, packet["protocol"])


def af(packet):
    return socket.AF_INET if packet["family"] == 4 else socket.AF_INET6


def upper_layer(packet):
    """The header and payload above IP, checksums included."""
    protocol = packet["protocol"]
    body = b"PCL:" + packet["marker"].encode()
    # Long enough that a fragmented one has its ports in the first part only.
    body += b"." * packet.get("padding", 0)
    ports = (packet.get("source_port") or 0, packet.get("destination_port") or 0)
    if protocol == UDP:
        return with_checksum(packet, struct.pack("!HHHH", *ports, 8 + len(body), 0) + body, 6)
    if protocol == TCP:
        syn = struct.pack("!HHIIBBHHH", *ports, 1, 0, 5 << 4, 0x02, 65535, 0, 0)
        return with_checksum(packet, syn + body, 16)
    if protocol in (ICMP, ICMPV6):
        kind, code = packet["icmp"]
        message = struct.pack("!BBHHH", kind, code, 0, 77, 1) + body
        return with_checksum(packet, message, 2)
    if protocol == GRE:
        return struct.pack("!HH", 0, 0x88B5) + body
    if protocol == ESP:
        return struct.pack("!II", 4096, 1) + body
    if protocol == SCTP:
        return struct.pack("!HHII", *ports, 0, 0) + body
    return body


def with_checksum(packet, data, at):
    over = data if packet["protocol"] == ICMP else pseudo_header(packet, len(data)) + data
    value = checksum(over) or 0xFFFF
    return data[:at] + struct.pack("!H", value) + data[at + 2 :]


def ip_packets(packet):
    data = upper_layer(packet)
    parts = packet.get("fragments") or 1
    identification = int(packet["marker"][:8], 16)
    size = len(data) if parts == 1 else max(8, (len(data) // parts) & ~7)
    offsets = range(0, len(data), size)
    for offset in offsets:
        piece = data[offset : offset + size]
        more = offset + size < len(data)
        build = ipv4 if packet["family"] == 4 else ipv6
        yield build(packet, piece, offset, more, identification, len(offsets) > 1)


def ipv4(packet, piece, offset, more, identification, _fragmented):
    flags = (0x2000 if more else 0) | offset // 8
    header = struct.pack(
        "!BBHHHBBH4s4s",
        0x45,
        0,
        20 + len(piece),
        identification & 0xFFFF,
        flags,
        packet.get("hop_limit") or 64,
        packet["protocol"],
        0,
        socket.inet_aton(packet["source"]),
        socket.inet_aton(packet["destination"]),
    )
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + piece


def ipv6(packet, piece, offset, more, identification, fragmented):
    protocol = packet["protocol"]
    if fragmented:
        fragment = struct.pack("!BBHI", protocol, 0, offset | int(more), identification)
        piece, protocol = fragment + piece, FRAGMENT
    source = socket.inet_pton(socket.AF_INET6, packet["source"])
    destination = socket.inet_pton(socket.AF_INET6, packet["destination"])
    hop_limit = packet.get("hop_limit") or 64
    return struct.pack("!IHBB", 6 << 28, len(piece), protocol, hop_limit) + source + destination + piece


class Probe:
    def __init__(self):
        self.senders = {4: raw(socket.AF_INET, 255), 6: raw(socket.AF_INET6, 255)}
        self.senders[4].setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)
        self.senders[6].setsockopt(socket.IPPROTO_IPV6, IPV6_HDRINCL, 1)
        self.selector = selectors.DefaultSelector()
        for family, protocols in (
            (socket.AF_INET, (ICMP, TCP, UDP, GRE, ESP, SCTP)),
            (socket.AF_INET6, (ICMPV6, TCP, UDP, GRE, ESP, SCTP)),
        ):
            for protocol in protocols:
                receiver = raw(family, protocol)
                receiver.setblocking(False)
                receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES)
                self.selector.register(receiver, selectors.EVENT_READ, protocol)
        self.unread = b""
        self.streams = {}
        self.selector.register(sys.stdin, selectors.EVENT_READ, None)

    def run(self):
        tell({"ready": True})
        while True:
            for key, _ in self.selector.select(self.beat()):
                if key.data is not None:
                    self.receive(key.fileobj, key.data)
                    continue
                # Not through a buffered reader: select would not see the lines that it holds.
                data = os.read(sys.stdin.fileno(), 65536)
                if not data:
                    return
                *lines, self.unread = (self.unread + data).split(b"\n")
                for line in lines:
                    self.command(json.loads(line))

    def receive(self, receiver, protocol):
        data, address = receiver.recvfrom(65535)
        found = MARKER.search(data)
        if found:
            tell({"seen": found[1].decode(), "protocol": protocol, "source": address[0]})

    def beat(self):
        """Sends what is due; how long until something is, in seconds."""
        now = time.monotonic()
        for stream in self.streams.values():
            if stream["due"] <= now:
                self.send_one_of_each(stream)
                stream["due"] = max(stream["due"] + stream["every"], now)
        return min((max(0, one["due"] - now) for one in self.streams.values()), default=None)

    def send_one_of_each(self, stream):
        number = len(stream["times"])
        stream["times"].append(int(time.time() * 1000))
        for index, packet in enumerate(stream["packets"]):
            packet["marker"] = "%s%02x%010x" % (stream["name"], index, number)
            if packet.get("source_port"):
                packet["source_port"] = 20000 + number % PORTS
            try:
                self.send(packet)
            except OSError:
                stream["unsent"].add(number)

    def send(self, packet):
        for data in ip_packets(packet):
            self.senders[packet["family"]].sendto(data, (packet["destination"], 0))

    def command(self, command):
        if "stream" in command:
            stream = {**command["stream"], "due": time.monotonic(), "times": [], "unsent": set()}
            self.streams[stream["name"]] = stream
        if "halt" in command:
            stream = self.streams.pop(command["halt"])
            reported = {"times": stream["times"], "unsent": sorted(stream["unsent"])}
            tell({"sent": command["id"], **reported})
            return
        packet = command.get("packet")
        if packet is None:
            tell({"sent": command["id"]})
            return
        try:
            self.send(packet)
            tell({"sent": command["id"]})
        except OSError as error:
            tell({"failed": command["id"], "reason": str(error)})


def raw(family, protocol):
    return socket.socket(family, socket.SOCK_RAW, protocol)


def tell(event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


Probe().run()
