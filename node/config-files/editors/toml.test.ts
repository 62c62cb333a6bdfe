import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { editToml } from './toml.ts';

describe('the parser toml', () => {
  const text = `# server
motd = "old" # shown in the list
ratio = 1.0
big = 9007199254740993

[network]
port = 1
names = [
  "a", # first
  "b",
]

[[worlds]]
name = "overworld"
`;
  it('replaces values in place, keeps every other byte and the type of numbers', () => {
    assert.equal(
      edited(text, { motd: 'new "one"', ratio: '2', 'network.port': '25565' }),
      text
        .replace('"old"', '"new \\"one\\""')
        .replace('1.0', '2.0')
        .replace('port = 1', 'port = 25565'),
    );
  });

  it('adds missing keys to their tables, and missing tables at the end', () => {
    assert.equal(
      edited(text, {
        'network.host': '0.0.0.0',
        'query.on': true,
        'network.names[1]': 'c',
      }),
      `${text.replace(
        /names[\s\S]*?\n\]/,
        'names = [ "a", "c" ]\nhost = "0.0.0.0"',
      )}\n[query]\non = true\n`,
    );
    assert.equal(edited('', { 'a.b c': 1 }), '[a]\n"b c" = 1\n');
  });

  it('leaves a file unchanged that is not TOML, and says what it cannot change in place', () => {
    for (const bad of ['a = ', 'a = { b = 1 }']) {
      assert.throws(() => editToml(bad, [{ match: 'a.c', ifValue: null, value: 1 }]), {
        name: 'Unreadable',
        message: /not TOML|in place/,
      });
    }
  });
});

function edited(text: string, wanted: Readonly<Record<string, string | number | boolean>>): string {
  const edits = Object.entries(wanted).map(([match, value]) => ({ match, ifValue: null, value }));
  const result = editToml(text, edits);
  assert.deepEqual(result.problems, []);
  return result.text;
}
