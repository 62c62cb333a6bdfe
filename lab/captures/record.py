"""record.py FILE DEVICE ADDRESS PORT

Adds to a file what passes a device to and from a port, once it has said `ready`: a line `TRANSPORT PEER to|from LENGTH START` for each payload, START being its
first 64 bytes as hex.
"""
import socket
import sys

file, device = open(sys.argv[1], "a"), sys.argv[2]
address, port = socket.inet_aton(sys.argv[3]), int(sys.argv[4])
ETH_P_ALL, TCP, UDP, START = 3, 6, 17, 64
end = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
end.bind((device, ETH_P_ALL))
print("ready", flush=True)
while True:
    packet, (_, ethertype, *_) = end.recvfrom(65535)
    if ethertype != 0x0800 or packet[9] not in (TCP, UDP):
        continue
    at = (packet[0] & 15) * 4
    source, destination = (int.from_bytes(packet[at + i:at + i + 2], "big") for i in (0, 2))
    to = packet[16:20] == address and destination == port
    if not to and not (packet[12:16] == address and source == port):
        continue
    # Floods of the tests come from this network.
    if packet[12] == 11 or packet[16] == 11:
        continue
    header = 8 if packet[9] == UDP else (packet[at + 12] >> 4) * 4
    payload = packet[at + header:int.from_bytes(packet[2:4], "big")]
    if not payload:
        continue
    transport = "udp" if packet[9] == UDP else "tcp"
    peer, way = (source, "to") if to else (destination, "from")
    print(transport, peer, way, len(payload), payload[:START].hex(), file=file, flush=True)
