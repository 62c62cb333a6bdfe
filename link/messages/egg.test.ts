import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseEgg } from '@portcullis/core/game-servers/eggs/parse-egg.ts';
import { egg as schema } from './egg.ts';
import { check } from './schema.ts';

describe('the egg schema', () => {
  it('accepts every egg that parseEgg accepts, with each field at its limit', () => {
    const long = (length: number): string => 'x'.repeat(length);
    const imported = parseEgg({
      meta: { version: 'PTDL_v2' },
      name: long(191),
      description: long(16_384),
      docker_images: { [long(512)]: `a${long(510)}` },
      startup: long(16_384),
      config: {
        startup: { done: Array.from({ length: 64 }, (_, at) => `regex:${at}${long(1000)}`) },
        stop: long(2048),
        files: {
          [`${long(255)}/${long(255)}`]: {
            parser: 'file',
            find: { [long(1024)]: { [long(20_000)]: long(16_384) } },
          },
        },
      },
      scripts: { installation: { script: long(262_144), container: 'a:b', entrypoint: long(255) } },
      variables: [
        {
          name: long(512),
          env_variable: long(191),
          default_value: long(16_384),
          rules: Array.from({ length: 64 }, () => long(4096)),
        },
      ],
      portcullis: { stop_times: { term_after_seconds: 3600, kill_after_seconds: 3600 } },
    });
    assert.ok(imported.ok, imported.ok ? '' : imported.reason);
    const { egg } = imported.value;
    assert.deepEqual(check(schema, JSON.parse(JSON.stringify(egg))), { ok: true, value: egg });
  });
});
