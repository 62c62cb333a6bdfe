import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { holdStream } from './open-streams.ts';

const LIMITS = { what: 'streams', ofCaller: 1, ofOrganisation: 2 };

/** A request whose response may have closed, with what its right was asked. */
function opening({ destroyed = false } = {}) {
  const openStreams = new Map();
  const raw = Object.assign(new EventEmitter(), { destroyed });
  const asked = { checks: 0, listeners: 0 };
  const right = {
    callerId: 1,
    organisationId: 1,
    check: async () => {
      asked.checks += 1;
      return null;
    },
    onChange: () => {
      asked.listeners += 1;
      return () => void (asked.listeners -= 1);
    },
  };
  const request = { server: { openStreams } } as unknown as FastifyRequest;
  const hold = () => holdStream(request, { raw } as unknown as FastifyReply, right, LIMITS);
  return { openStreams, raw, asked, hold };
}

test('a caller that left before its stream was held has no place', () => {
  const { openStreams, hold } = opening({ destroyed: true });
  for (let count = 0; count < 5; count += 1) assert.ok(hold().ending.signal.aborted);
  assert.equal(openStreams.size, 0);
});

test('the right of a caller that left before it is watched is not watched', () => {
  const { openStreams, raw, asked, hold } = opening();
  const held = hold();
  raw.emit('close');
  held.watchRight();
  assert.deepEqual([openStreams.size, asked.checks, asked.listeners], [0, 0, 0]);
});

test('a stream gives back its place and its listener when it closes', () => {
  const { openStreams, raw, asked, hold } = opening();
  hold().watchRight();
  assert.throws(hold, /There are 1 streams/);
  assert.deepEqual([openStreams.size, asked.checks, asked.listeners], [1, 1, 1]);
  raw.emit('close');
  assert.deepEqual([openStreams.size, asked.listeners], [0, 0]);
});
