import { EDGE_DEVICE, type Internet } from '../internet.ts';

/** What a device loses when it goes down: routes through it. IPv6 addresses stay lost. */
export function restoreRoutes({ edge }: Internet, device = EDGE_DEVICE): void {
  edge.run('ip', 'route', 'replace', 'default', 'via', '192.0.2.2', 'dev', device);
}

/** Deletes the pair of devices between client and edge and makes it anew, with IPv4 alone. */
export function remakeUplink(internet: Internet): void {
  const { edge, client } = internet;
  const peer = ['peer', 'name', EDGE_DEVICE, 'netns', edge.name];
  edge.run('ip', 'link', 'del', EDGE_DEVICE);
  client.run('ip', 'link', 'add', 'eth0', 'type', 'veth', ...peer);
  edge.run('ip', 'address', 'add', '192.0.2.1/24', 'dev', EDGE_DEVICE);
  client.run('ip', 'address', 'add', '192.0.2.2/24', 'dev', 'eth0');
  edge.run('ip', 'link', 'set', EDGE_DEVICE, 'up');
  client.run('ip', 'link', 'set', 'eth0', 'up');
  client.run('ip', 'route', 'replace', 'default', 'via', '192.0.2.1');
  restoreRoutes(internet);
}
