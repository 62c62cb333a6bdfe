import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Address, BITS, formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, containsAddress, lastValue, parseCidr } from '@portcullis/core/net/cidr.ts';
import { mayConnect, NOT_PUBLIC, translationsOf } from '@portcullis/core/net/public-address.ts';
import { anyAddress } from '@portcullis/core/net/testing/arbitraries.ts';
import { renderGuard } from '@portcullis/node/engine/docker/network/guard-rules.ts';

/** Where clouds hand out credentials, and what else a game or a webhook has no business at. */
const MUST_BE_CLOSED = `
  168.63.129.16 192.0.0.192 100.100.100.200 169.254.169.254 169.254.170.2 169.254.42.42 fd00:ec2::254 fd00:ec2::23
  fd20:ce::254 fd00:c1::a9fe:a9fe fe80::a9fe:a9fe 198.18.0.1 198.19.255.254 10.0.0.1 172.31.0.1 192.168.0.1 100.64.0.1
  127.0.0.1 0.0.0.0 224.0.0.1 240.0.0.1 255.255.255.255 ::1 :: 64:ff9b::a9fe:a9fe 64:ff9b::a83f:8110 64:ff9b:1::a00:1
  2002:a9fe:a9fe::1 2001:0:a00:1::1 ::a9fe:a9fe 100::1 5f00::1 3fff::1 2001:db8::1 fc00::1 fec0::1 ff02::1
`
  .trim()
  .split(/\s+/);

test('a game and a webhook reach neither credentials of clouds nor any special-purpose network', () => {
  const guard = guardOf([]);
  for (const text of MUST_BE_CLOSED) {
    assert.equal(mayConnect(text, []), false, `webhook to ${text}`);
    assert.equal(guard(addressOf(text)), false, `game to ${text}`);
  }
  for (const text of ['1.1.1.1', '168.63.129.17', '2606:4700::1111']) {
    assert.ok(mayConnect(text, []) && guard(addressOf(text)), text);
  }
});

test('what a webhook may not call, a game may not connect to, and the other way round', () => {
  let checked = 0;
  for (const opened of [
    [],
    ['10.0.0.0/8', 'fd00::/8'],
    ['198.18.0.0/15', '64:ff9b::/96', '2002::/16'],
  ]) {
    const guard = guardOf(opened);
    const networks = opened.map(cidrOf);
    const agree = (address: Address): void => {
      checked += 1;
      const text = formatAddress(address);
      // A mapped address is refused in any text, because it is an IPv4 address in another form.
      const isMapped = address.family === 6 && address.value >> 32n === 0xffffn;
      if (isMapped) return assert.equal(guard(address), false, text);
      assert.equal(mayConnect(text, networks), guard(address), `${text}, opened: ${opened}`);
    };
    for (const network of [...NOT_PUBLIC, ...opened].map(cidrOf)) {
      for (const one of [network, ...translationsOf(network)]) edgesOf(one).forEach(agree);
    }
    for (const family of [4, 6] as const) {
      fc.assert(fc.property(anyAddress(family), agree), { numRuns: 2_000 });
      // Between the networks that are special: public ones are rare among any addresses of IPv6.
      const near = fc.constantFrom(
        ...NOT_PUBLIC.map(cidrOf).filter((one) => one.family === family),
      );
      fc.assert(
        fc.property(near, anyAddress(family), (one, { value }) => {
          const host = BigInt(BITS[family] - one.length) + 2n;
          agree({ family, value: ((one.value >> host) << host) | (value & ((1n << host) - 1n)) });
        }),
        { numRuns: 2_000 },
      );
    }
  }
  assert.ok(checked > 20_000, `${checked} addresses`);
});

/** The first and last address of a network, and those beside it. */
function edgesOf(network: Cidr): Address[] {
  const { family } = network;
  const last = lastValue(network);
  return [network.value - 1n, network.value, last, last + 1n]
    .filter((value) => value >= 0n && value < 1n << BigInt(BITS[family]))
    .map((value) => ({ family, value }));
}

/** Whether the rendered guard lets a game begin a connection, by its sets and in the order of its rules. */
function guardOf(opened: readonly string[]): (address: Address) => boolean {
  const text = renderGuard({
    table: 't',
    bridges: ['pcn1'],
    published: [],
    resolvers: [],
    closed: [],
    opened,
  });
  const chain = /chain from_server \{([^}]*(?:\{[^}]*\}[^}]*)*)\n {2}\}/.exec(text)?.[1] ?? '';
  const rules = [...chain.matchAll(/ip6? daddr @(\w+) (accept|drop)$/gm)].map(
    ([, name = '', verdict = '']) => {
      const elements =
        new RegExp(`set ${name} \\{.*elements = \\{ (.*) \\};`).exec(text)?.[1] ?? '';
      return {
        isAccept: verdict === 'accept',
        networks: elements.split(', ').filter(Boolean).map(cidrOf),
      };
    },
  );
  assert.ok(rules.length >= 5, chain);
  return (address) =>
    rules.find(({ networks }) => networks.some((one) => containsAddress(one, address)))?.isAccept ??
    true;
}

function addressOf(text: string): Address {
  const address = parseAddress(text);
  assert.ok(address.ok, text);
  return address.value;
}

function cidrOf(text: string): Cidr {
  const cidr = parseCidr(text);
  assert.ok(cidr.ok, text);
  return cidr.value;
}
