import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type } from 'typebox';
import { createComponents, type Json } from './components.ts';
import { buildOpenApi } from './openapi.ts';
import { VERSIONS } from './openapi-texts.ts';

for (const version of VERSIONS) {
  const document = buildOpenApi(version);

  describe(`the OpenAPI document of ${version}`, () => {
    it('resolves every reference within itself', () => {
      const references = find(document, '$ref');
      assert.ok(references.length > 50);
      for (const reference of references) assert.notEqual(resolve(reference, document), undefined);
    });

    it('uses every component that it defines', () => {
      const references = new Set(find(document, '$ref'));
      for (const kind of ['schemas', 'headers', 'parameters', 'responses']) {
        const names = Object.keys(resolve(`#/components/${kind}`, document) as object);
        for (const name of names) assert.ok(references.has(`#/components/${kind}/${name}`), name);
      }
    });

    it('gives every closed list of strings a type', () => {
      const untyped: Json[] = [];
      walk(document, (value) => {
        if (Array.isArray(value['enum']) && value['type'] === undefined) untyped.push(value);
      });
      assert.deepEqual(untyped, []);
    });

    it('leaves no character of a control block in it', () => {
      assert.doesNotMatch(JSON.stringify(document), /[\u0000-\u001f\u007f-\u009f]/);
    });
  });
}

describe('components', () => {
  it('refuse two different schemas of one title', () => {
    const components = createComponents();
    components.schema(Type.String({ title: 'Name' }));
    assert.throws(() => components.schema(Type.Integer({ title: 'Name' })), /called Name/);
  });

  it('take a property that is called title for a property', () => {
    const made = createComponents().schema(Type.Object({ title: Type.String() }));
    assert.deepEqual(made, {
      type: 'object',
      required: ['title'],
      properties: { title: { type: 'string' } },
    });
  });

  it('leave example values alone, whatever their fields are called', () => {
    const value = { title: 'not a name' };
    const made = createComponents().schema(Type.Object({}, { examples: [value] }));
    assert.deepEqual(made['examples'], [value]);
  });
});

function walk(value: Json, visit: (value: Readonly<Record<string, Json>>) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) visit(value as Readonly<Record<string, Json>>);
  for (const part of Object.values(value)) walk(part as Json, visit);
}

function find(document: Json, keyword: string): string[] {
  const found: string[] = [];
  walk(document, (value) => {
    const at = value[keyword];
    if (typeof at === 'string') found.push(at);
  });
  return found;
}

function resolve(reference: string, document: unknown): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (value, step) =>
        typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined,
      document,
    );
}
