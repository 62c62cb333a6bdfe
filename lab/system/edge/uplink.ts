import { EDGE_DEVICE, type Internet, settleClient, settleUplink } from '../../stack/internet.ts';

/** Restores what a device loses when it goes down: its routes and IPv6 addresses. */
export function restoreUplink({ edge }: Internet, device = EDGE_DEVICE): void {
  settleUplink(edge, device);
}

/** Deletes and recreates the veth pair between client and edge. */
export function remakeUplink(internet: Internet): void {
  internet.edge.run('ip', 'link', 'del', EDGE_DEVICE);
  makeUplink(internet);
}

/** Creates the veth pair between client and edge. */
export function makeUplink({ edge, client }: Internet): void {
  const peer = ['peer', 'name', EDGE_DEVICE, 'netns', edge.name];
  client.run('ip', 'link', 'add', 'eth0', 'type', 'veth', ...peer);
  edge.run('ip', 'link', 'set', EDGE_DEVICE, 'up');
  client.run('ip', 'link', 'set', 'eth0', 'up');
  settleClient(client);
  settleUplink(edge);
}
