import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJoinUrl } from './join-url.ts';

test('hosts join over https, and over plain HTTP on the same host alone', () => {
  for (const text of [
    'https://portcullis.example.net',
    ' https://10.0.0.1:8443/fleet\n',
    'http://127.0.0.1:8080',
    'http://[::1]:8080',
    'http://localhost',
  ])
    assert.equal(parseJoinUrl(text)?.href, new URL(text.trim()).href);
  for (const text of [
    'http://portcullis.example.net',
    'http://10.0.0.1:8080',
    'https://0.0.0.0:8443',
    'https://[::]:8443',
    'ftp://127.0.0.1',
    'portcullis.example.net',
    '',
  ])
    assert.equal(parseJoinUrl(text), null, text);
});
