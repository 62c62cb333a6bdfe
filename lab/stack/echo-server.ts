import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';

/** `echo-server.ts NAME HTTP_PORT UDP_PORT`: answers its name over HTTP and echoes every datagram. */
const [name = '', httpPort = '', udpPort = ''] = process.argv.slice(2);
const http = createServer((request, response) => {
  response.end(`${name} greets ${request.socket.remoteAddress ?? 'nobody'}\n`);
});
http.listen(Number(httpPort), '::');
const udp = createSocket('udp6');
udp.on('message', (message, from) => udp.send(message, from.port, from.address));
udp.bind(Number(udpPort), '::', () => console.log('ready'));
