import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseDenylist } from './denylist.ts';
import { formatPath, isInside, nameFromBytes, nameToBytes, parsePath } from './path.ts';

describe('a path of a file', () => {
  it('is its names, however it is written, and never leads upward', () => {
    for (const text of ['plugins/a.jar', '/plugins/a.jar', 'plugins/a.jar/'])
      assert.deepEqual(parsePath(text), { ok: true, value: ['plugins', 'a.jar'] }, text);
    for (const text of ['', '/']) assert.deepEqual(parsePath(text), { ok: true, value: [] });
    for (const text of [
      '..',
      'a/../b',
      './a',
      'a//b',
      '//',
      'a\0b',
      '.portcullis/bin',
      '/.portcullis',
    ])
      assert.equal(parsePath(text).ok, false, text);
    // Nothing is decoded, so these are odd names and no way out.
    for (const text of ['%2e%2e/a', '..%2f', '\\..\\a', '%username%', '....'])
      assert.equal(parsePath(text).ok, true, text);
  });

  it('is bounded in length and depth', () => {
    assert.equal(parsePath('a'.repeat(256)).ok, false);
    assert.equal(parsePath('é'.repeat(127)).ok, true);
    assert.equal(parsePath('é'.repeat(128)).ok, false);
    assert.equal(parsePath('a/'.repeat(64)).ok, true);
    assert.equal(parsePath('a/'.repeat(65)).ok, false);
    assert.equal(parsePath('a'.repeat(5_000)).ok, false);
    // 85 characters, of which each is three of the spelling.
    const grows = Array.from({ length: 20 }, () => '\u2028'.repeat(85));
    assert.equal(parsePath(grows.join('/')).ok, false);
    const path = parsePath(grows.slice(0, 16).join('/'));
    assert.ok(path.ok && parsePath(formatPath(path.value)).ok);
  });

  it('has one spelling for every name of Linux, without a character that steers a terminal', () => {
    const byte = fc.integer({ min: 1, max: 255 }).filter((one) => one !== 0x2f);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.array(byte), (raw, more) => {
        const bytes = Uint8Array.from([
          ...raw.filter((one) => one !== 0 && one !== 0x2f),
          ...more,
          97,
        ]);
        const name = nameFromBytes(bytes);
        assert.deepEqual(nameToBytes(name), bytes);
        assert.doesNotMatch(name, /[\p{Cc}\u2028\u2029\u202a-\u202e]/u);
        assert.ok(name.isWellFormed());
      }),
    );
    assert.equal(nameFromBytes(Buffer.from('größe 😀')), 'größe 😀');
    assert.equal(nameFromBytes(Uint8Array.of(0x61, 0xff)), 'a\uefff');
    assert.equal(nameFromBytes(Buffer.from('a\nb')), 'a\uef0ab');
  });

  it('does not take an escape for a slash, a dot or a NUL', () => {
    for (const byte of [0, 0x2e, 0x2f, 0x41])
      assert.equal(nameToBytes(`x${String.fromCharCode(0xef00 + byte)}`), null);
    assert.equal(nameToBytes('\ud800'), null);
  });

  it('knows what is inside of a folder', () => {
    assert.equal(isInside(['a'], ['a', 'b']), true);
    assert.equal(isInside(['a'], ['a']), true);
    assert.equal(isInside(['a'], ['ab']), false);
    assert.equal(formatPath(['a', 'b']), 'a/b');
  });
});

describe('a denylist', () => {
  const cases: readonly (readonly [readonly string[], string, boolean])[] = [
    [['server.cfg'], 'server.cfg', true],
    [['server.cfg'], 'conf/server.cfg', true],
    [['/server.cfg'], 'conf/server.cfg', false],
    [['conf/*.yml'], 'conf/a.yml', true],
    [['conf/*.yml'], 'conf/deep/a.yml', false],
    [['conf/**/*.yml'], 'conf/a/b/c.yml', true],
    [['conf/**/*.yml'], 'conf/c.yml', true],
    [['**/keys'], 'a/b/keys/one', true],
    [['secrets/'], 'secrets/a', true],
    [['*.key', '!open.key'], 'open.key', false],
    [['*.key', '!open.key'], 'other.key', true],
    // What is in a denied folder cannot be allowed again, as with git.
    [['secrets', '!secrets/open'], 'secrets/open', true],
    [['[ab]?c'], 'axc', true],
    [['[!ab]?c'], 'axc', false],
    [['# note', '', '  '], '# note', false],
    [[String.raw`\#note`], '#note', true],
    [['A'], 'a', false],
  ];
  for (const [lines, path, denied] of cases)
    it(`${JSON.stringify(lines)} ${denied ? 'denies' : 'allows'} ${path}`, () => {
      assert.equal(parseDenylist(lines).denies(path.split('/')), denied);
    });

  it('decides about hostile patterns and names at once', () => {
    const list = parseDenylist([`${'*a'.repeat(400)}b`, `${'**/x/'.repeat(60)}y`]);
    const startMs = performance.now();
    assert.equal(list.denies(['a'.repeat(255)]), false);
    assert.equal(list.denies(Array.from({ length: 64 }, () => 'x')), false);
    assert.ok(performance.now() - startMs < 1_000);
  });
});
