import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ConfigFile } from '@portcullis/core/game-servers/egg.ts';
import { createApplyConfigFiles } from '@portcullis/node/config-files/apply.ts';
import { withXmlAttributes } from '@portcullis/node/config-files/xml-attributes.ts';

type Parser = ConfigFile['parser'];
type Edits = Readonly<Record<string, string | number | boolean>>;

const apply = createApplyConfigFiles();

/** Characters that a cut to one byte makes a line feed, a carriage return, a bracket or a quotation mark. */
const CUT = ['\u0a0a', '\u670d', '\u015b', '\u0122', '\u{1f40a}'];
/** Texts that some reader takes for the end of a line. */
const BREAKS = ['\n', '\r', '\r\n', '\v', '\f', '\u001c', '\u0085', '\u2028', '\u2029'];

describe('a value of a tenant', () => {
  const secret = 'RconPassword=open';
  for (const parser of ['ini', 'file', 'properties'] as const) {
    it(`adds no line to a Latin-1 file by characters that Latin-1 lacks (${parser})`, async () => {
      for (const char of CUT) {
        const before = Buffer.from('Welcome=d\xe9j\xe0\nName=a\nRconPassword=secret\n', 'latin1');
        const key = parser === 'file' ? 'Name=' : 'Name';
        const said = `${parser === 'file' ? 'Name=' : ''}a${char}${secret}`;
        const { after, problems } = await edited(parser, before, { [key]: '{{env.V}}' }, said);
        const lines = after.toString('latin1').split(/[\r\n]/);
        assert.equal(lines.length, 4, char);
        assert.equal(lines.includes(secret), false, char);
        assert.ok(lines.includes('RconPassword=secret'));
        if (parser !== 'properties') {
          assert.deepEqual(after, before, 'the line stays');
          assert.match(problems.join(' '), /is not safely UTF-8/);
        }
      }
    });

    it(`adds no line by what any reader takes for the end of one (${parser})`, async () => {
      for (const end of BREAKS) {
        const before = bytes('Name=a\nRconPassword=secret\n');
        const said = `${parser === 'file' ? 'Name=' : ''}a${end}${secret}`;
        const key = parser === 'file' ? 'Name=' : 'Name';
        const { after } = await edited(parser, before, { [key]: '{{env.V}}' }, said);
        const lines = after.toString('utf8').split(/[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/);
        assert.deepEqual(
          [lines.length, lines.includes(secret), lines.includes('RconPassword=secret')],
          [3, false, true],
          JSON.stringify(end),
        );
      }
    });
  }

  it('takes the next line of an ini file to itself by no backslash or quotation', async () => {
    for (const said of ['x\\', 'x \\\\\\', '"""x', '`x']) {
      const before = bytes('[S]\nName=a\nRconPassword=secret\n');
      const { after, problems } = await edited('ini', before, { 'S.Name': '{{env.V}}' }, said);
      assert.deepEqual(after, before);
      assert.match(problems.join(' '), /would take the next line/);
    }
  });

  it('sets no attribute of an XML element whose text it is', async () => {
    const before = bytes('<S><Name admin="0">a</Name></S>\n');
    const { after } = await edited('xml', before, { 'S.Name': '{{env.V}}' }, "[admin='1']");
    assert.equal(String(after), '<S><Name admin="0">[admin=\'1\']</Name></S>\n');
    const named = await edited('xml', before, { 'S.Name': "[admin='{{env.V}}']" }, "x' b='y");
    assert.equal(String(named.after), '<S><Name admin="x\' b=\'y">a</Name></S>\n');
  });
});

describe('the values of configuration files', () => {
  const cases: readonly (readonly [Parser, string, string, string, string])[] = [
    ['json', '{"a": false}', 'a', '1', '{\n    "a": true\n}'],
    ['json', '{"a": true}', 'a', 'False', '{\n    "a": false\n}'],
    ['yaml', 'a: true\n', 'a', '0', 'a: false\n'],
    ['yaml', 'a: Yes\n', 'a', '0', 'a: No\n'],
    ['toml', 'a = true\n', 'a', '0', 'a = false\n'],
    ['json', '{"a": 1.0}', 'a', '2.5', '{\n    "a": 2.5\n}'],
    ['json', '{"a": 1.5}', 'a', '2', '{\n    "a": 2.0\n}'],
    ['json', '{"a": 1}', 'a', '76561198000000001', '{\n    "a": 76561198000000001\n}'],
    ['json', '{"a": "1"}', 'a', '2.5', '{\n    "a": "2.5"\n}'],
    ['json', '{"a": 1}', 'a', '1.2.3', '{\n    "a": "1.2.3"\n}'],
    ['yaml', 'a: 1.0\n', 'a', '-0.5', 'a: -0.5\n'],
    ['yaml', 'a: 1.20.4\n', 'a', '1.21', 'a: "1.21"\n'],
    ['toml', 'a = 1.0\n', 'a', '2.5', 'a = 2.5\n'],
    ['toml', 'a = 1\n', 'a', '0.5', 'a = 0.5\n'],
  ];
  it('keep the type of what stood there', async () => {
    for (const [parser, text, key, value, expected] of cases) {
      const { after, problems } = await edited(parser, bytes(text), { [key]: '{{env.V}}' }, value);
      assert.equal(String(after), expected, `${parser} ${text}`);
      assert.deepEqual(problems, []);
    }
  });

  it('go into UTF-16 files as UTF-16', async () => {
    for (const parser of ['ini', 'properties', 'file'] as const) {
      for (const isLittle of [true, false]) {
        const key = { ini: 'S.RCONPort', properties: 'RCONPort', file: 'RCONPort=' }[parser];
        const head = parser === 'ini' ? '[S]\r\n' : '';
        const said = parser === 'file' ? 'RCONPort={{env.V}}' : '{{env.V}}';
        const before = utf16(`${head}RCONPort=1\r\nName=\u65e7\r\n`, isLittle);
        const { after, problems } = await edited(parser, before, { [key]: said }, '25577');
        assert.deepEqual(after, utf16(`${head}RCONPort=25577\r\nName=\u65e7\r\n`, isLittle));
        assert.deepEqual(problems, []);
      }
    }
  });

  it('leave UTF-16 alone that has no mark, is cut off, or is of a format without it', async () => {
    const whole = utf16('[S]\nPort=1\n', true);
    for (const [parser, before] of [
      ['ini', whole.subarray(2)],
      ['ini', whole.subarray(0, -1)],
      ['file', whole.subarray(2)],
      ['json', utf16('{"a": 1}', true)],
      ['yaml', utf16('a: 1', false)],
    ] as const) {
      const { after, problems } = await edited(parser, before, { a: '1', 'S.Port': '2' });
      assert.deepEqual(after, before);
      assert.match(problems.join(' '), /^Left as it is: .*UTF/);
    }
  });

  it('may have any character in a file that is UTF-8 without doubt', async () => {
    for (const before of ['\ufeffa=\u00e9\nb=1\n', 'a=\u20ac\u00e9\nb=1\n', 'a=e\nb=1\n']) {
      const { after, problems } = await edited('ini', bytes(before), { b: '\u670d' });
      assert.equal(String(after), before.replace('b=1', 'b=\u670d'));
      assert.deepEqual(problems, []);
    }
  });

  it('are seen behind a byte order mark, which stays', async () => {
    for (const [parser, text] of Object.entries({ ini: 'a=1', properties: 'a=1', yaml: 'a: 1' })) {
      const { after } = await edited(parser as Parser, bytes(`\ufeff${text}\n`), { a: '2' });
      assert.equal(String(after), `\ufeff${text.replace('1', '2')}\n`);
    }
  });

  it('are not swallowed by a last line that a backslash continues, at any start', async () => {
    for (const text of ['motd=hello\\\n', 'motd=hello\\', 'a=1\nb=\\']) {
      const once = await edited('properties', bytes(text), { 'server-port': '25577' });
      const end = text.endsWith('\n') ? '' : '\n';
      assert.equal(String(once.after), `${text}${end}\nserver-port=25577\n`);
      const twice = await edited('properties', once.after, { 'server-port': '25577' });
      assert.deepEqual(twice.after, once.after);
    }
    const { after } = await edited('ini', bytes('[S]\nA=C:\\x \\'), { 'S.Port': '1' });
    assert.equal(String(after), '[S]\nA=C:\\x \\\n\nPort=1\n');
  });

  it('are raw in properties files that have such characters, and escaped elsewhere', async () => {
    const value = '\u6e2c\u8a66';
    const raw = await edited('properties', bytes('# B\nname=\u65e7\n'), { name: value });
    assert.equal(String(raw.after), `# B\nname=${value}\n`);
    const plain = await edited('properties', bytes('name=old\n'), { name: value });
    assert.equal(String(plain.after), 'name=\\u6e2c\\u8a66\n');
    const french = await edited('properties', bytes('name=\u00e9t\u00e9\n'), {
      name: '\u00fc\u6e2c',
    });
    assert.equal(String(french.after), 'name=\u00fc\\u6e2c\n');
    const latin1 = Buffer.from('name=\xe9t\xe9\n', 'latin1');
    const kept = await edited('properties', latin1, { name: '\u00fc\u6e2c' });
    assert.equal(kept.after.toString('latin1'), 'name=\xfc\\u6e2c\n');
  });

  it('leave the comments behind values of ini files, and are compared without them', async () => {
    for (const [line, expected] of [
      ['Port = 7777 ; the port', 'Port = 25577 ; the port'],
      ['Port = 7777 ;the port', 'Port = 25577 ;the port'],
      ['Port=7777 # the port', 'Port=25577 # the port'],
      ['Port = "7777" ; "the" port', 'Port = "25577" ; "the" port'],
      ["Port = '77;77'\t; port", "Port = '25577'\t; port"],
      ['Port = We are #1 ;)', 'Port = 25577'],
      ['Port = 1;2', 'Port = 25577'],
      ['Port = ; none', 'Port =25577 ; none'],
    ] as const) {
      const { after } = await edited('ini', bytes(`[S]\n${line}\n`), { 'S.Port': '25577' });
      assert.equal(String(after), `[S]\n${expected}\n`);
    }
    const text = '[S]\nPort = 7777 ; the port\n';
    const { after } = await edited('ini', bytes(text), {}, '', [
      { match: 'S.Port', ifValue: '7777', value: '1' },
    ]);
    assert.equal(String(after), '[S]\nPort = 1 ; the port\n');
    const mark = await edited('ini', bytes(text), { 'S.Port': 'a ; b' });
    const again = await edited('ini', mark.after, { 'S.Port': 'a ; b' });
    assert.deepEqual(again.after, mark.after, 'it does not grow at each start');
  });

  it('replace the whole of a value that goes on in the next line of an ini file', async () => {
    for (const text of ['[S]\nA=x \\\ny\nB=1\n', '[S]\nA=x\n  y\nB=1\n']) {
      const { after } = await edited('ini', bytes(text), { 'S.A': 'z' });
      assert.equal(String(after), '[S]\nA=z\nB=1\n');
    }
    const path = await edited('ini', bytes('[S]\nA=C:\\x\\\nB=1\n'), { 'S.A': 'z', 'S.B': '2' });
    assert.equal(String(path.after), '[S]\nA=z\nB=2\n');
    const unclear = await edited('ini', bytes('[S]\nA=x \\\nB=1\n'), { 'S.A': 'z' });
    assert.match(unclear.problems.join(' '), /unclear/);
  });

  it('are reported if an XML path fits nothing, and nothing is added then', async () => {
    const before = bytes('<a>\n  <b><p>1</p></b>\n  <b/>\n</a>\n');
    for (const path of [
      'a.b[0].p',
      'a.b[3].p',
      'a.*.q',
      'a.c[1]',
      'a.x.y[2]',
      'a[2].b',
      'a.b[0]/@x',
    ])
      assert.deepEqual(
        await edited('xml', before, { [path]: '2' }).then(({ after, problems }) => [
          String(after),
          problems.length,
          /fits no element/.test(problems[0] ?? ''),
        ]),
        [String(before), 1, true],
        path,
      );
  });

  it('are reported if a path with a star fits nothing, in every format that has one', async () => {
    for (const [parser, text] of [
      ['json', '{"a": {}, "b": 1}'],
      ['yaml', 'a: {}\nb: 1\n'],
      ['toml', 'b = 1\n[a]\n'],
      ['xml', '<a><b>1</b></a>'],
    ] as const) {
      for (const path of ['a.*.q', 'c.*.q', 'c.*']) {
        const { after, problems } = await edited(parser, bytes(text), { [path]: '2' });
        assert.equal(String(after), text);
        assert.equal(problems.length, 1, `${parser} ${path}`);
        const condition = [{ match: path, ifValue: 'x', value: 'y' }];
        const silent = await edited(parser, bytes(text), {}, '', condition);
        if (parser !== 'xml') assert.deepEqual(silent.problems, []);
      }
    }
  });

  it('change nothing else of an XML file', async () => {
    const text = '<a>\r\n  <b>x&#xD;y\u2028</b>\r\n  <c>1</c>\r\n</a>\r\n';
    const { after } = await edited('xml', bytes(text), { 'a.c': '2' });
    assert.equal(String(after), text.replace('1', '2'));
    const declared = '<?xml version="1.0" encoding="ISO-8859-1"?>\n<a>x</a>\n';
    const latin1 = await edited('xml', bytes(declared), { a: '\u00e9' });
    assert.equal(String(latin1.after), declared.replace('x</a>', '&#xe9;</a>'));
    const { problems } = await edited('xml', bytes('<a'), { a: '1' });
    assert.equal(problems.join(' ').match(/it is not XML/g)?.length, 1);
  });

  it('go to every one of a repeated YAML key, and to lists by digits', async () => {
    const twice = await edited('yaml', bytes('port: 1\nname: x\nport: 2\n'), { port: '25577' });
    assert.equal(String(twice.after), 'port: 25577\nname: x\nport: 25577\n');
    const yaml = await edited('yaml', bytes('l:\n- host: a\n'), { 'l.0.host': 'b' });
    assert.equal(String(yaml.after), 'l:\n- host: b\n');
    const json = await edited('json', bytes('{"l": [{"host": "a"}]}'), { 'l.0.host': 'b' });
    assert.deepEqual(JSON.parse(String(json.after)), { l: [{ host: 'b' }] });
  });

  it('leave the comment of an empty YAML value', async () => {
    const { after } = await edited('yaml', bytes('# top\na: # note\nb: 1\n'), { a: '5' });
    assert.equal(String(after), '# top\na: 5 # note\nb: 1\n');
  });

  it('are said not to fit in place where TOML cannot be changed', async () => {
    for (const [text, path] of [
      ['[[products]]\nname = "x"\n', 'products[0].name'],
      ['a = { b = 1 }\n', 'a.c'],
    ] as const) {
      const { after, problems } = await edited('toml', bytes(text), { [path]: 'y' });
      assert.equal(String(after), text);
      assert.doesNotMatch(problems.join(' '), /not TOML/);
      assert.match(problems.join(' '), /cannot be changed in place/);
    }
  });
});

async function edited(
  parser: Parser,
  before: Buffer,
  edits: Edits,
  variable = '',
  more: ConfigFile['replacements'] = [],
): Promise<{ readonly after: Buffer; readonly problems: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-values-'));
  try {
    writeFileSync(join(folder, 'a.cfg'), before);
    const replacements = Object.entries(edits).map(([match, value]) => ({
      match,
      ifValue: null,
      value,
    }));
    const problems = await apply({
      folder,
      files: withXmlAttributes([
        { path: 'a.cfg', parser, replacements: [...replacements, ...more] },
      ]),
      scope: {
        environment: { V: variable },
        uuid: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11',
        allocation: { ip: '198.51.100.10', port: 25_577 },
        limits: { memory: 1024, cpu: 100, disk: 2048 },
      },
      owner: null,
    });
    const after = readFileSync(join(folder, 'a.cfg'));
    return { after, problems: problems.map(({ detail }) => detail) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function bytes(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}

function utf16(text: string, isLittle: boolean): Buffer {
  const data = Buffer.from(`\ufeff${text}`, 'utf16le');
  return isLittle ? data : data.swap16();
}
