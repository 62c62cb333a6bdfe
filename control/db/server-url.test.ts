import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { parseServerUrl } from './server-url.ts';

/** Hosts with ports, and the state that is asked for. */
function read(text: string): readonly unknown[] | null {
  const parsed = parseServerUrl(text);
  return parsed && [...parsed.servers.map(({ host, port }) => `${host}:${port}`), parsed.wanted];
}

test('takes the forms of libpq: names, addresses, sockets, and several of them', () => {
  for (const [text, ...expected] of [
    ['postgresql://db.example/x', 'db.example:5432', 'any'],
    ['postgres://u:p%40@[2001:db8::1]:5433/x?sslmode=verify-full', '2001:db8::1:5433', 'any'],
    ['postgresql:///x?host=/run/pg&user=a', '/run/pg:5432', 'any'],
    ['postgresql://%2Frun%2Fpg/x', '/run/pg:5432', 'any'],
    ['postgresql://u@/x?host=/run/pg&port=5433', '/run/pg:5433', 'any'],
    ['postgresql://a,b:5433/x', 'a:5432', 'b:5433', 'read-write'],
    ['postgresql://a,b/x?target_session_attrs=primary', 'a:5432', 'b:5432', 'primary'],
    ['postgresql:///x?host=a,/run/pg&port=1,2', 'a:1', '/run/pg:2', 'read-write'],
    ['postgresql://u@/x?host=a,b&port=7&target_session_attrs=any', 'a:7', 'b:7', 'any'],
    ['postgresql://a/x?target_session_attrs=read-write', 'a:5432', 'read-write'],
    ['postgresql:///x?host=a%2Cb', 'a:5432', 'b:5432', 'read-write'],
    ['postgresql:///x?host=%2Frun%2C1', '/run,1:5432', 'any'],
    ['postgresql://', ':5432', 'any'],
  ]) {
    assert.deepEqual(read(text ?? ''), expected, text);
  }
});

test('refuses what names no server that control could write to', () => {
  for (const text of [
    'mysql://a/x',
    'a/x',
    'postgresql://a:b:c/x',
    'postgresql://a:99999/x',
    'postgresql://a,b:y/x',
    'postgresql:///x?host=a,b,c&port=1,2',
    'postgresql://a/x?target_session_attrs=standby',
    'postgresql://a,b/x?target_session_attrs=read-only',
  ]) {
    assert.equal(read(text), null, text);
  }
});

test('gives the driver a URL of each server, with the account and the other parameters', () => {
  const parsed = parseServerUrl(
    'postgresql://u:p%2F@a,[::1]:7,%2Frun%2Fpg/x%20y?application_name=one%26two',
  );
  const clients = parsed?.servers.map(({ url }) => new pg.Client(url)) ?? [];
  assert.deepEqual(
    clients.map(({ host, port, user, password, database }) => [
      host,
      port,
      user,
      password,
      database,
    ]),
    [
      ['a', 5432, 'u', 'p/', 'x y'],
      ['::1', 7, 'u', 'p/', 'x y'],
      ['/run/pg', 5432, 'u', 'p/', 'x y'],
    ],
  );
  assert.ok(parsed?.servers.every(({ url }) => url.includes('application_name=one%26two')));
});
