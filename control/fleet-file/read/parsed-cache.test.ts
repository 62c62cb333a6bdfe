import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ParsedCache } from './parsed-cache.ts';
import { readFleetFile } from './read.ts';

const SECRET = 'a value of the environment';
const FLEET = `
organisations:
  acme:
    name: "\${NAME}"
    asns: [64500]
    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500 }]
    groups: [{ name: g, rules: [{ action: deny, protocol: udp, destination_port: "19" }], addresses: [203.0.113.10] }]
`;

async function prepare(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-cache-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'fleet.yaml');
  const cached = join(folder, 'fleet.parsed');
  await writeFile(path, FLEET);
  const counted = { hits: 0, saves: 0 };
  class Counting extends ParsedCache {
    override async load(key: Buffer) {
      const found = await super.load(key);
      if (found !== null) counted.hits++;
      return found;
    }
    override async save(...saved: Parameters<ParsedCache['save']>) {
      counted.saves++;
      await super.save(...saved);
    }
  }
  const read = async (env: Record<string, string> = { NAME: SECRET }) => {
    const result = await readFleetFile(path, env, { cache: new Counting(cached), cachedFrom: 1 });
    return result.ok ? result.value : assert.fail(result.mistakes[0]?.message);
  };
  return { folder, path, cached, read, counted };
}

test('an unchanged file is not parsed again, and says the same', async (t) => {
  const { read, counted, path } = await prepare(t);
  const first = await read();
  assert.deepEqual(await read(), first);
  assert.deepEqual(counted, { hits: 1, saves: 1 });
  const parsed = await readFleetFile(path, { NAME: SECRET });
  assert.deepEqual(parsed.ok && parsed.value, first);
});

test('another text or another environment is parsed', async (t) => {
  const { read, counted, path } = await prepare(t);
  await read();
  assert.equal((await read({ NAME: 'Other' })).organisations[0]?.name, 'Other');
  await writeFile(path, FLEET.replace('"19"', '"53"'));
  await read();
  assert.deepEqual(counted, { hits: 0, saves: 3 });
});

test('what is kept can be read and made only by who has the file and the environment', async (t) => {
  const { read, counted, cached, folder } = await prepare(t);
  const first = await read();
  const bytes = await readFile(cached);
  assert.equal(bytes.includes(SECRET), false);
  assert.equal(bytes.includes('acme'), false);
  assert.equal((await stat(cached)).mode & 0o777, 0o600);
  for (const changed of [
    bytes.with(40, (bytes[40] ?? 0) ^ 1),
    bytes.subarray(0, 20),
    Buffer.alloc(0),
  ]) {
    await writeFile(cached, changed);
    assert.deepEqual(await read(), first);
  }
  assert.equal(counted.hits, 0);
  assert.deepEqual((await readdir(folder)).toSorted(), ['fleet.parsed', 'fleet.yaml']);
});

test('a folder that cannot be written keeps nothing and refuses nothing', async (t) => {
  const { path } = await prepare(t);
  const cache = new ParsedCache('/nowhere/fleet.parsed');
  const read = await readFleetFile(path, { NAME: SECRET }, { cache, cachedFrom: 1 });
  assert.equal(read.ok, true);
});
