import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger, redact } from './log.ts';

const KEY = `pcl_${'a1B2'.repeat(10)}Zz09aa`;

function logged(write: (log: ReturnType<typeof createLogger>) => void): string {
  let text = '';
  const destination = {
    write(line: string): void {
      text += line;
    },
  };
  write(createLogger({ level: 'info', destination }));
  return text;
}

test('redacts keys anywhere in a line', () => {
  const text = logged((log) => {
    log.info({ url: `/x?key=${KEY}`, nested: { deep: [KEY] } }, `sent ${KEY}`);
    log.error({ error: new Error(`bad ${KEY}`, { cause: new Error(KEY) }) }, 'failed');
  });
  assert.equal(text.includes('a1B2'), false);
  for (const line of text.trim().split('\n')) JSON.parse(line);
});

test('censors secret headers and fields by name', () => {
  const text = logged((log) => {
    log.info({ headers: { authorization: 'hunter2', cookie: 'hunter2' }, secret: 'hunter2' }, 'x');
    log.info({ request: { headers: { authorization: 'hunter2' } }, password: 'hunter2' }, 'x');
    log.info('got Authorization: Bearer hunter2');
  });
  assert.equal(text.includes('hunter2'), false);
});

test('redacts passwords of connection URLs and keeps the rest', () => {
  assert.equal(
    redact('cannot reach postgresql://app:s3cr:et@db.example:5432/portcullis'),
    'cannot reach postgresql://app:[redacted]@db.example:5432/portcullis',
  );
  assert.equal(redact('http://127.0.0.1:8080/api and a@b'), 'http://127.0.0.1:8080/api and a@b');
});

test('logs an error with its causes and origin, without the objects attached to it', () => {
  const cause = Object.assign(new Error('terminated'), {
    code: '57P01',
    client: { sent: 'x'.repeat(9999) },
  });
  const circular = new Error('outer', { cause });
  cause.cause = circular;
  const text = logged((log) => log.warn({ error: new AggregateError([circular], 'all') }, 'broke'));
  const { error } = JSON.parse(text) as {
    error: {
      type: string;
      errors: { message: string; cause: { code: string; message: string } }[];
    };
  };
  assert.equal(error.type, 'AggregateError');
  assert.equal(error.errors[0]?.message, 'outer');
  assert.equal(error.errors[0].cause.code, '57P01');
  assert.doesNotMatch(text, /xxxx/);
});

test('logs a thrown value that is not an error unchanged', () => {
  assert.match(
    logged((log) => log.warn({ error: 'text' }, 'x')),
    /"error":"text"/,
  );
});

test('says once a minute that the disk of the database is full, without a stack', () => {
  const lines: string[] = [];
  let nowMs = 0;
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ level: 'info', destination, nowMs: () => nowMs });
  const full = new Error('query failed', {
    cause: Object.assign(new Error('could not extend file'), { code: '53100' }),
  });
  for (let request = 0; request < 500; request += 1) log.error({ error: full }, 'request failed');
  nowMs = 60_000;
  log.warn({ error: full }, 'a drop was not written');
  log.error({ error: new Error('other') }, 'request failed');
  const [first, second, other, ...rest] = lines.map((line) => JSON.parse(line) as { msg: string });
  assert.deepEqual(rest, []);
  assert.match(first?.msg ?? '', /disk of the database is full/);
  assert.partialDeepStrictEqual(second, { level: 'warn', more: 499, msg: first?.msg });
  assert.equal(other?.msg, 'request failed');
  assert.doesNotMatch(lines[0] ?? '', /stack|extend/);
});
