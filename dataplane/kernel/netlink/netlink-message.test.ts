import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  attribute,
  attributesOf,
  encodeMessage,
  FLAG,
  MalformedMessage,
  messagesOf,
  nested,
  textAttribute,
  textOf,
  u16Attribute,
} from './netlink-message.ts';

describe('netlink messages', () => {
  it('parse back to what was written, without padding', () => {
    const first = encodeMessage(
      7,
      FLAG.request,
      11,
      textAttribute(1, 'abcd'),
      u16Attribute(2, 513),
    );
    const second = encodeMessage(8, FLAG.dump, 12);
    const [one, two, ...more] = messagesOf(Buffer.concat([first, second]));
    assert.deepEqual([one?.type, one?.sequence, two?.type, two?.sequence], [7, 11, 8, 12]);
    assert.equal(more.length, 0);
    const attributes = attributesOf(one?.payload ?? Buffer.alloc(0));
    assert.equal(textOf(attributes.get(1)), 'abcd');
    assert.deepEqual(attributes.get(2), Buffer.from([2, 1]));
  });

  it('find nested attributes by type', () => {
    const outer = nested(5, u16Attribute(1, 80), attribute(2, Buffer.from('x')));
    const inner = attributesOf(attributesOf(outer).get(5) ?? Buffer.alloc(0));
    assert.deepEqual([inner.get(1), inner.get(2)], [Buffer.from([0, 80]), Buffer.from('x')]);
  });

  it('contain the errno of an answer', () => {
    const answer = Buffer.alloc(4);
    answer.writeInt32LE(-17);
    assert.equal(messagesOf(encodeMessage(2, 0, 1, answer))[0]?.error, 17);
    assert.equal(messagesOf(encodeMessage(2, 0, 1, Buffer.alloc(4)))[0]?.error, 0);
    assert.equal(messagesOf(encodeMessage(5, 0, 1, answer))[0]?.error, null);
  });

  it('are rejected with a wrong length, truncated at any point', () => {
    const whole = encodeMessage(7, 0, 1, textAttribute(1, 'abcdefg'));
    for (let length = 1; length < whole.length; length++) {
      assert.throws(() => messagesOf(whole.subarray(0, length)), MalformedMessage);
    }
    const short = Buffer.from(whole);
    short.writeUInt32LE(15, 0);
    assert.throws(() => messagesOf(short), MalformedMessage);
    const long = attribute(1, Buffer.from('abcd'));
    long.writeUInt16LE(long.length + 1, 0);
    assert.throws(() => attributesOf(long), MalformedMessage);
    long.writeUInt16LE(3, 0);
    assert.throws(() => attributesOf(long), MalformedMessage);
  });
});
