import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { skipUnless } from '../../requirements.ts';

/** A device of the Internet by IPv4, another by IPv6, and a bridge of containers, none of which is hardware. */
const HOST = `
for device in ens18 ens19 docker0; do ip link add $device type veth peer name peer-$device; ip link set $device up; done
ip link set lo up
for device in ens18 ens19 docker0; do ip link set peer-$device up; done
ip address add 203.0.113.10/24 dev ens18
ip address add 2001:db8::10/64 dev ens19 nodad
ip address add 172.17.0.1/16 dev docker0
ip route add default via 203.0.113.1 dev ens18
ip -6 route add default via 2001:db8::1 dev ens19
exec "$0" --input-type=module -e "$1"`;

const READ = `
const { readHostNetwork } = await import('${new URL('../../../cli/up/host-network.ts', import.meta.url).href}');
console.log(JSON.stringify(readHostNetwork()));`;

test('a first start learns the devices of the default routes, whatever they are called', {
  skip: skipUnless(['netns']),
}, () => {
  const said = execFileSync('unshare', ['--net', 'sh', '-ec', HOST, process.execPath, READ], {
    encoding: 'utf8',
  });
  assert.deepEqual(JSON.parse(said), {
    devices: ['ens18', 'ens19'],
    addresses: ['203.0.113.10', '2001:db8::10'],
  });
});
