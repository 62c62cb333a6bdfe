import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { processorClock } from '@portcullis/core/testing/processor-clock.ts';
import type { Edit } from './edit.ts';
import { EDITORS } from './editors.ts';

type Parser = keyof typeof EDITORS;

describe('the parser file', () => {
  it('replaces lines by prefix, the longest match first, and adds none', () => {
    const text = '# motd\r\nname = a\nname_long = b\nother\n';
    assert.equal(
      edited('file', text, { name: 'name = X', name_long: 'name_long = Y', gone: 'gone = Z' }),
      '# motd\r\nname = X\nname_long = Y\nother\n',
    );
    assert.equal(edited('file', '', { name: 'name = X' }), '');
  });
});

describe('the parser properties', () => {
  it('changes values in place and keeps comments, order, line ends and notation', () => {
    const text =
      '#Minecraft\r\n! old\r\nserver-port=1\r\nmotd : long \\\r\n   line\r\nempty\r\n\r\nkey\\ one=x\r\nlast=1';
    assert.equal(
      edited('properties', text, {
        'server-port': '25565',
        motd: 'new',
        empty: 'full',
        'key one': 'y',
        added: 7,
      }),
      '#Minecraft\r\n! old\r\nserver-port=25565\r\nmotd : new\r\nempty=full\r\n\r\nkey\\ one=y\r\nlast=1\r\nadded=7\r\n',
    );
  });

  it('writes values that any parser reads as the same text', () => {
    const values = fc.string({
      unit: fc.oneof(
        fc.constantFrom(...Array.from('\\\n\r\t\f =:#!§é🎮')),
        fc.string({ minLength: 1, maxLength: 1 }),
      ),
    });
    fc.assert(
      fc.property(
        values,
        values.filter((key) => key !== ''),
        (value, key) => {
          const text = edited('properties', 'a=1\n', { [key]: value });
          // An equal value is not written, so the editor parses it as that value.
          assert.equal(edited('properties', text, { [key]: value }), text);
          assert.equal(
            edited('properties', text, { [key]: { [value]: 'found' } }),
            edited('properties', text, { [key]: 'found' }),
          );
          assert.doesNotMatch(text, /[^\x20-\x7e\n]/);
        },
      ),
    );
  });

  it('compares the present value: equal, or matching with groups', () => {
    const text = 'a=old\nb=localhost:25566\n';
    assert.equal(
      edited('properties', text, { a: { old: 'new', other: 'no' } }),
      'a=new\nb=localhost:25566\n',
    );
    assert.equal(
      edited('properties', text, {
        b: { 'regex:^(127\\.0\\.0\\.1|localhost)(:\\d{1,5})?$': '10.0.0.1$2' },
        missing: { old: 'new' },
      }),
      'a=old\nb=10.0.0.1:25566\n',
    );
  });
});

describe('the parser ini', () => {
  it('finds keys in their sections and keeps everything else', () => {
    const text =
      '; game\ntop = 1\n\n[net]\nPort=1\n# note\nName = "Old name"\n\n[Script/Engine.Session]\nMax=10\n';
    assert.equal(
      edited('ini', text, {
        top: '2',
        'net.Port': '7777',
        'net.Name': 'New name',
        'net.Added': 'x',
        '[Script/Engine.Session].Max': '64',
        'new.key': 'v',
      }),
      '; game\ntop = 2\n\n[net]\nPort=7777\n# note\nName = "New name"\nAdded=x\n\n[Script/Engine.Session]\nMax=64\n[new]\nkey=v\n',
    );
  });

  it('accepts keys with dots in brackets, and splits at the first dot outside of them', () => {
    assert.equal(
      edited('ini', '[General]\nscum.Name=a\n[User:admin]\nPassword=x\n', {
        'General.[scum.Name]': 'b',
        'General.c.d': '1',
        'User:admin.Password': 'y',
      }),
      '[General]\nscum.Name=b\nc.d=1\n[User:admin]\nPassword=y\n',
    );
  });

  it('never writes a second line from a value', () => {
    const { text, problems } = run('ini', 'a=1\n', { a: 'x\n[admin]\nroot=1' });
    assert.equal(text, 'a=1\n');
    assert.match(problems[0] ?? '', /several lines/);
  });
});

describe('the parser json', () => {
  it('sets paths, list elements and wildcards, and creates missing ones', () => {
    const text = '{\n  "b": {"x": 1},\n  "a": [{"p": 1}, {"p": 2}],\n  "s": "1",\n  "t": true\n}\n';
    assert.deepEqual(
      JSON.parse(
        edited('json', text, {
          'b.x': '25565',
          'a[0].p': '7',
          'a.*.q': 'v',
          'c.d.e': false,
          s: '2',
          t: 'false',
          'l[0].m': '1',
        }),
      ),
      {
        b: { x: 25565 },
        a: [
          { p: 7, q: 'v' },
          { p: 2, q: 'v' },
        ],
        s: '2',
        t: false,
        c: { d: { e: false } },
        l: [{ m: 1 }],
      },
    );
  });

  it('keeps order, indentation, and digits beyond the precision of JavaScript numbers', () => {
    const text = '{\n\t"z": 76561198000000001,\n\t"a": 1.0,\n\t"port": 1\n}';
    assert.equal(
      edited('json', text, { port: '2' }),
      '{\n\t"z": 76561198000000001,\n\t"a": 1.0,\n\t"port": 2\n}',
    );
  });

  it('leaves a file unchanged that is not JSON or that is already correct', () => {
    assert.throws(() => edited('json', '{"a": 1,}', { a: 2 }), { name: 'Unreadable' });
    assert.throws(() => edited('json', '"text"', { a: 2 }), { name: 'Unreadable' });
    assert.equal(edited('json', '{ "a":2 }', { a: 2 }), '{ "a":2 }');
  });

  it('treats __proto__ as an ordinary key', () => {
    const text = edited('json', '{"__proto__": {"x": 1}}', { '__proto__.x': 2, '__proto__.y': 3 });
    assert.equal(text.replaceAll(/\s/g, ''), '{"__proto__":{"x":2,"y":3}}');
    assert.equal(({} as Record<string, unknown>)['y'], undefined);
  });

  it('reports the obstacle', () => {
    const { problems } = run('json', '{"a": 1, "l": [], "o": {}}', {
      'a.b': 1,
      'l.x': 1,
      'o[0]': 1,
      o: 1,
      '': 1,
    });
    assert.equal(problems.length, 5);
  });
});

describe('the parser yaml', () => {
  it('replaces values in place and keeps comments, order and every other byte', () => {
    const text =
      '# Bungee\nlisteners:\n- query_port: 1 # ask\n  host: 0.0.0.0:1\n  motd:   "old"\nservers:\n    lobby:\n        address: localhost:25566\n        since: 12:30:00\n    other:\n        address: 192.0.2.1:25566\n        online: yes\n';
    assert.equal(
      edited('yaml', text, {
        'listeners[0].query_port': '25565',
        'listeners[0].host': '0.0.0.0:25565',
        'listeners[0].motd': 'it\'s "new"',
        'servers.*.address': { 'regex:^(127\\.0\\.0\\.1|localhost)(:\\d{1,5})?$': '10.0.0.9$2' },
      }),
      '# Bungee\nlisteners:\n- query_port: 25565 # ask\n  host: "0.0.0.0:25565"\n  motd:   "it\'s \\"new\\""\nservers:\n    lobby:\n        address: "10.0.0.9:25566"\n        since: 12:30:00\n    other:\n        address: 192.0.2.1:25566\n        online: yes\n',
    );
  });

  it('adds missing keys and keeps comments and order', () => {
    const text = '# top\na: 1\nmap:\n    x: 1 # here\nempty:\nlist: []\n';
    const after = edited('yaml', text, {
      'map.y': 'two',
      'empty.z': true,
      'list[0]': '5',
      'new.k': 'v',
    });
    assert.match(after, /^# top\na: 1\nmap:\n {4}x: 1 # here\n {4}y: two\n/);
    assert.deepEqual(run('yaml', after, {}).text, after);
    assert.match(after, /empty:\n {4}z: true\n/);
    assert.match(after, /new:\n {4}k: v\n/);
    assert.equal(edited('yaml', '', { 'a.b': '1' }), 'a:\n  b: 1\n');
  });

  it('quotes ambiguous text and keeps numbers as numbers', () => {
    const text = 'pw: changeme\nport: 1\non: true\nraw: "5"\n';
    assert.equal(
      edited('yaml', text, {
        pw: '0123',
        port: '0123',
        on: 'false',
        raw: '6',
        name: 'yes',
        map: 'a: b',
      }),
      'pw: "0123"\nport: "0123"\non: false\nraw: "6"\nname: "yes"\nmap: "a: b"\n',
    );
    assert.equal(
      edited('yaml', text, { pw: '12345', port: '12345' }).split('\n')[0],
      'pw: "12345"',
    );
  });

  it('leaves a file unchanged that is not one YAML document, and reports the obstacle', () => {
    for (const bad of ['a: [1', '--- 1\n--- 2\n', 'text', '\ta: 1']) {
      assert.throws(() => edited('yaml', bad, { a: 1 }), { name: 'Unreadable' }, bad);
    }
    const { problems } = run('yaml', 'a: 1\nl: []\nm: {x: 1}\nr: &r {x: 1}\ns: *r\n', {
      'a.b': 1,
      'l.x': 1,
      'm[0]': 1,
      m: 1,
      's.x': 1,
    });
    assert.equal(problems.length, 5);
  });
});

describe('the parser xml', () => {
  const text =
    '<?xml version="1.0"?>\n<!-- server -->\n<Server>\n  <Port>1</Port>\n  <property name="Name" value="old"/>\n  <property name="Other" value="x"/>\n  <list><item>a</item><item>b</item></list>\n</Server>\n';

  it('sets the text and attributes of elements, and creates missing ones', () => {
    assert.equal(
      edited('xml', text, {
        'Server.Port': '25565',
        "Server.property[@name='Name']/@value": 'a & <b>',
        'Server.list.item[2]': 'c',
        'Server.New.Deep': 'x',
      }),
      '<?xml version="1.0"?>\n<!-- server -->\n<Server>\n  <Port>25565</Port>\n  <property name="Name" value="a &amp; &lt;b&gt;"/>\n  <property name="Other" value="x"/>\n  <list><item>a</item><item>c</item></list>\n  <New><Deep>x</Deep></New>\n</Server>\n',
    );
  });

  it('selects every element with *, and compares the present value', () => {
    assert.match(edited('xml', text, { 'Server.list.*': 'z' }), /<item>z<\/item><item>z<\/item>/);
    assert.match(
      edited('xml', text, { 'Server.list.item': { b: 'z' } }),
      /<item>a<\/item><item>z<\/item>/,
    );
  });

  it('creates a new file with the named root', () => {
    assert.equal(
      edited('xml', '', { 'Server.Port': '1' }),
      '<?xml version="1.0" encoding="utf-8"?>\n<Server><Port>1</Port></Server>\n',
    );
  });

  it('loads no external entities and leaves a file unchanged that is not XML', () => {
    for (const bad of ['<a>', '<a></b>', 'text', '<a>'.repeat(5000) + '</a>'.repeat(5000)]) {
      assert.throws(() => edited('xml', bad, { a: 1 }), { name: 'Unreadable' });
    }
    const evil =
      '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<a><b>&x;</b><c>1</c></a>';
    let after = '';
    try {
      after = edited('xml', evil, { 'a.c': '2' });
    } catch (error) {
      assert.equal((error as Error).name, 'Unreadable');
    }
    assert.doesNotMatch(after, /root:/);
  });
});

describe('every parser', () => {
  it('changes nothing in a correct file', () => {
    const edits = { 'a.b': 'value', 'a.n': '25565' };
    const first = {
      properties: 'x=1\n',
      ini: 'x=1\n',
      json: '{"x": 1}',
      yaml: '# c\nx: 1\n',
      xml: '<a><x/></a>',
    };
    for (const [parser, text] of Object.entries(first)) {
      const once = edited(parser as Parser, text, edits);
      assert.notEqual(once, text, parser);
      assert.equal(edited(parser as Parser, once, edits), once, parser);
    }
  });

  it('takes linear time for any number of edits and any lines', () => {
    const edits = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`s.key${at}`, 'x']));
    const hostile = {
      properties: ['a\\\n', 'k=v\n', '\\', '\\\\\n'],
      ini: ['[s]\n', 'k=v\n', '[', '\n', 'k=v \\\n', 'k="', "='a' ", '= ;', ' k\n', 'k=    '],
      file: ['k=v\n', '\r'],
    };
    for (const [parser, pieces] of Object.entries(hostile)) {
      for (const piece of pieces) {
        const tookMs = processorClock();
        edited(parser as Parser, piece.repeat(200_000 / piece.length), edits);
        assert.ok(tookMs() < 10_000, `${parser} ${JSON.stringify(piece)}`);
      }
    }
  });

  it('terminates on any text, with a result or an error', () => {
    const piece = fc.constantFrom(
      'a',
      'b',
      ':',
      ' ',
      '\n',
      '-',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '<',
      '>',
      '/',
      '&',
      '=',
      '#',
      '*',
      '!',
      '|',
      '\\',
      '1',
      '.',
      '\t',
      '%',
      '?',
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...(Object.keys(EDITORS) as Parser[])),
        fc.array(piece, { maxLength: 40 }),
        (parser, pieces) => {
          try {
            edited(parser, pieces.join(''), { 'a.b': 'x', 'a.*.c': '1', a: 'y' });
          } catch (error) {
            assert.equal((error as Error).name, 'Unreadable', (error as Error).stack ?? '');
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});

type Wanted = Readonly<
  Record<string, string | number | boolean | Readonly<Record<string, string | number | boolean>>>
>;

function run(parser: Parser, text: string, wanted: Wanted): ReturnType<(typeof EDITORS)[Parser]> {
  const edits = Object.entries(wanted).flatMap(([match, value]): Edit[] =>
    typeof value === 'object'
      ? Object.entries(value).map(([ifValue, inner]) => ({ match, ifValue, value: inner }))
      : [{ match, ifValue: null, value }],
  );
  return EDITORS[parser](text, edits);
}

function edited(parser: Parser, text: string, wanted: Wanted): string {
  return run(parser, text, wanted).text;
}
