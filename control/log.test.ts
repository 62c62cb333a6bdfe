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

test('no key reaches the log, wherever in a line it stands', () => {
  const text = logged((log) => {
    log.info({ url: `/x?key=${KEY}`, nested: { deep: [KEY] } }, `sent ${KEY}`);
    log.error({ error: new Error(`bad ${KEY}`, { cause: new Error(KEY) }) }, 'failed');
  });
  assert.equal(text.includes('a1B2'), false);
  for (const line of text.trim().split('\n')) JSON.parse(line);
});

test('headers and fields that carry secrets are censored by name', () => {
  const text = logged((log) => {
    log.info({ headers: { authorization: 'hunter2', cookie: 'hunter2' }, secret: 'hunter2' }, 'x');
    log.info({ request: { headers: { authorization: 'hunter2' } }, password: 'hunter2' }, 'x');
    log.info('got Authorization: Bearer hunter2');
  });
  assert.equal(text.includes('hunter2'), false);
});

test('passwords of connection URLs are cut out, the rest stays readable', () => {
  assert.equal(
    redact('cannot reach postgresql://app:s3cr:et@db.example:5432/portcullis'),
    'cannot reach postgresql://app:[redacted]@db.example:5432/portcullis',
  );
  assert.equal(redact('http://127.0.0.1:8080/api and a@b'), 'http://127.0.0.1:8080/api and a@b');
});
