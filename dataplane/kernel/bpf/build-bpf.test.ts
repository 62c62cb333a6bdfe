import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { describe, it } from 'node:test';
import { require } from '@portcullis/lab/requirements.ts';
import { readArtifact } from './bpf-artifact.ts';
import {
  artifactPath,
  bpfSources,
  buildArtifact,
  compilerVersion,
  sourceDigest,
} from './build-bpf.ts';

describe('committed BPF artifacts', () => {
  for (const source of bpfSources()) {
    const name = basename(source);

    it(`${name} was built from these sources (npm run build:bpf)`, () => {
      assert.equal(readArtifact(artifactPath(source)).digest, sourceDigest(source));
    });

    it(`${name} equals the compiler output for these sources`, (t) => {
      if (!require(t, ['clang'])) return;
      const compiler = compilerVersion() ?? '';
      const committed = readArtifact(artifactPath(source));
      assert.deepEqual(buildArtifact(source, compiler), { ...committed, compiler });
    });
  }
});
