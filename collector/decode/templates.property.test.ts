import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { addressBytes, bytesOf, message, set } from '../testing/datagrams.ts';
import { created, read, TARGET } from '../testing/decoded.ts';

const VARIABLE = 0xffff;
const RUNS = repeated(300);

/** A field of a template, with the bytes that describe it and those of a record. */
interface Field {
  readonly spec: Buffer;
  readonly value: Buffer;
}

interface Readable {
  readonly kind: 'readable';
  readonly fields: readonly Field[];
  /** The packets of its records; each has the other values too. */
  readonly records: readonly number[];
  /** Where the destination and the packets stand among the other fields. */
  readonly at: readonly [number, number];
}

/** The ways in which a template cannot be read. */
const BROKEN = ['too many fields', 'no bytes', 'too long', 'low number', 'truncated'] as const;
interface Unreadable {
  readonly kind: (typeof BROKEN)[number];
}
type AnyTemplate = Readable | Unreadable;

/** Numbers that nothing is read of, and numbers that are, in lengths that they cannot have. */
const UNREAD = [5, 9, 13, 33, 56, 70, 82, 89, 95, 128, 160, 225, 239, 371, 500, 9000, 0x3fff];
const IMPOSSIBLE = [
  [8, 3],
  [12, 5],
  [28, 4],
  [27, 0],
  [1, 9],
  [86, 0],
  [298, 12],
] as const;

const bytes = (length: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((all) => Buffer.from(all));

function fieldOf(number: number, length: number, value: Buffer, version: 9 | 10): Field {
  const enterprise = number > 0x8000 && version === 10 ? [[9, 4] as const] : [];
  return { spec: bytesOf([number, 2], [length, 2], ...enterprise), value };
}

/** A value with its length before it: one byte, or 255 and two bytes, which may be used for short ones too. */
function prefixed(value: Buffer, isLong: boolean): Buffer {
  return value.length >= 255 || isLong
    ? bytesOf([255, 1], [value.length, 2], value)
    : bytesOf([value.length, 1], value);
}

function anyField(version: 9 | 10): fc.Arbitrary<Field> {
  const number = fc.oneof(fc.constantFrom(...UNREAD), fc.integer({ min: 0x8001, max: 0xffff }));
  const fixed = fc
    .tuple(number, fc.nat(40))
    .chain(([one, length]) => bytes(length).map((value) => fieldOf(one, length, value, version)));
  const impossible = fc
    .constantFrom(...IMPOSSIBLE)
    .chain(([one, length]) => bytes(length).map((value) => fieldOf(one, length, value, version)));
  const length = fc.oneof(fc.nat(40), fc.constantFrom(254, 255, 256, 700));
  // Also of numbers that are read, in lengths that they cannot have.
  const read = fc.tuple(
    fc.constantFrom(1, 2, 8, 12, 28, 86, 298),
    fc.constantFrom(0, 9, 15, 17, 255, 700),
    fc.boolean(),
  );
  const variable = fc
    .oneof(fc.tuple(number, length, fc.boolean()), read)
    .chain(([one, length, isLong]) =>
      bytes(length).map((value) => fieldOf(one, VARIABLE, prefixed(value, isLong), version)),
    );
  return fc.oneof(fixed, impossible, variable);
}

function anyTemplate(version: 9 | 10): fc.Arbitrary<AnyTemplate> {
  const readable = fc.record({
    kind: fc.constant('readable' as const),
    fields: fc.array(anyField(version), { maxLength: 8 }),
    records: fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 4 }),
    at: fc.tuple(fc.nat(8), fc.nat(8)),
  });
  const broken = fc.record({ kind: fc.constantFrom(...BROKEN) });
  return fc.oneof({ arbitrary: readable, weight: 3 }, { arbitrary: broken, weight: 1 });
}

function placed<T>(
  { at, fields }: Readable,
  of: (one: Field) => T,
  destination: T,
  packets: T,
): T[] {
  const all = fields.map(of);
  all.splice(at[0] % (all.length + 1), 0, destination);
  all.splice(at[1] % (all.length + 1), 0, packets);
  return all;
}

function templateBytes(one: AnyTemplate, id: number): Buffer {
  const header = (count: number, number = id): Buffer => bytesOf([number, 2], [count, 2]);
  const plain = bytesOf([12, 2], [4, 2]);
  if (one.kind === 'readable') {
    const specs = placed(one, ({ spec }) => spec, plain, bytesOf([2, 2], [4, 2]));
    return bytesOf(header(specs.length), ...specs);
  }
  if (one.kind === 'too many fields') return bytesOf(header(300), ...Array(300).fill(plain));
  if (one.kind === 'no bytes') return bytesOf(header(1), [9, 2], [0, 2]);
  if (one.kind === 'too long') return bytesOf(header(2), [9, 2], [40_000, 2], [9, 2], [40_000, 2]);
  if (one.kind === 'low number') return bytesOf(header(1, 200), plain);
  return bytesOf(header(9), plain);
}

function dataSet(one: AnyTemplate, id: number): Buffer {
  if (one.kind !== 'readable') return set(id, Buffer.alloc(40, 1));
  const records = one.records.flatMap((packets) =>
    placed(one, ({ value }) => value, addressBytes(TARGET), bytesOf([packets, 4])),
  );
  return set(id, ...records, [0, 3]);
}

/** Sets of the templates: one for all, or one each. What a truncated one hides, nothing can find: it is the last. */
function templateSets(
  version: 9 | 10,
  templates: readonly AnyTemplate[],
  isJoined: boolean,
): Buffer[] {
  const all = templates.map((one, index) => ({ one, bytes: templateBytes(one, 256 + index) }));
  const kind = version === 9 ? 0 : 2;
  const isTruncated = ({ one }: (typeof all)[number]): boolean => one.kind === 'truncated';
  const alone = all
    .filter((one) => !isJoined || isTruncated(one))
    .map((one) => set(kind, one.bytes));
  const joined = all.filter((one) => isJoined && !isTruncated(one)).map((one) => one.bytes);
  return joined.length === 0 ? alone : [...alone, set(kind, ...joined)];
}

const isNumbered = ({ kind }: AnyTemplate): boolean => kind !== 'low number';

for (const version of [9, 10] as const) {
  const many = fc.array(anyTemplate(version), { minLength: 1, maxLength: 6 });

  describe(`any templates of ${version === 9 ? 'NetFlow 9' : 'IPFIX'}`, () => {
    it('that cannot be read cost their own data, which is counted, and nothing else', () => {
      let [records, refused] = [0, 0];
      fc.assert(
        fc.property(many, fc.boolean(), fc.boolean(), (templates, isJoined, isDataFirst) => {
          const exporter = created();
          const known = message(version, templateSets(version, templates, isJoined));
          const data = templates.map((one, index) => ({ one, bytes: dataSet(one, 256 + index) }));
          const sent = data.filter(({ one }) => isNumbered(one));
          const datagrams = sent.map((one) => message(version, [one.bytes]));
          const found = read(
            exporter,
            ...(isDataFirst ? [...datagrams, known] : [known, ...datagrams]),
          );
          const expected = templates.flatMap((one) => (one.kind === 'readable' ? one.records : []));
          assert.deepEqual(
            found.map(({ packets }) => packets).toSorted((a, b) => a - b),
            expected.toSorted((a, b) => a - b),
          );
          const broken = templates.filter(({ kind }) => kind !== 'readable');
          const { counters } = exporter;
          assert.equal(counters.templatesRefused, broken.length);
          assert.equal(counters.withoutTemplate, broken.filter(isNumbered).length);
          assert.equal(counters.malformed, Number(broken.some(({ kind }) => kind === 'truncated')));
          assert.equal(counters.records, expected.length);
          records += expected.length;
          refused += broken.length;
        }),
        { numRuns: RUNS },
      );
      assert.ok(records >= RUNS && refused >= RUNS / 4, `${records} records, ${refused} refused`);
    });

    it('in a datagram that is cut off at any byte cost what was cut off, and it is counted', () => {
      let cuts = 0;
      const readable = many.map((all) => all.filter(({ kind }) => kind === 'readable'));
      fc.assert(
        fc.property(readable, fc.nat(), (templates, position) => {
          const sets = [
            ...templateSets(version, templates, false),
            ...templates.map((one, index) => dataSet(one, 256 + index)),
          ];
          const whole = message(version, sets);
          const all = read(created(), whole).map(({ packets }) => packets);
          const exporter = created();
          const cut = position % whole.length;
          const left = read(exporter, whole.subarray(0, cut)).map(({ packets }) => packets);
          assert.deepEqual(left, all.slice(0, left.length));
          let at = version === 9 ? 20 : 16;
          let kept = 0;
          for (const [index, one] of sets.entries()) {
            at += one.length;
            const template = templates[index - templates.length];
            if (at <= cut && template?.kind === 'readable') kept += template.records.length;
          }
          assert.equal(left.length, kept);
          const ends = sets.map((_, index) => Buffer.concat(sets.slice(0, index + 1)).length + 20);
          // A message of NetFlow 9 does not say how long it is; a rest below the head of a set is padding.
          const isWhole = version === 9 && [20, ...ends].some((end) => cut >= end && cut < end + 4);
          assert.equal(exporter.counters.malformed, Number(!isWhole));
          cuts += 1;
        }),
        { numRuns: RUNS },
      );
      assert.ok(cuts >= RUNS);
    });

    it('and sets of any bytes neither throw nor lose the set behind them', () => {
      let behind = 0;
      const anySet = fc
        .tuple(
          fc.oneof(fc.constantFrom(0, 1, 2, 3, 255, 256), fc.integer({ min: 0, max: 0xffff })),
          fc.uint8Array({ maxLength: 200 }),
        )
        // The template and the data of the set behind have a number of their own.
        .filter(([id]) => id !== 5000)
        .map(([id, content]) => set(id, Buffer.from(content)));
      fc.assert(
        fc.property(fc.array(anySet, { maxLength: 6 }), (sets) => {
          const exporter = created();
          const template = bytesOf([5000, 2], [2, 2], [12, 2], [4, 2], [2, 2], [4, 2]);
          const last = [
            set(version === 9 ? 0 : 2, template),
            set(5000, addressBytes(TARGET), [77, 4]),
          ];
          const found = read(exporter, message(version, [...sets, ...last]));
          assert.equal(found.at(-1)?.bytes, 0);
          assert.equal((found.at(-1)?.packets ?? 0) / (found.at(-1)?.samplingRate ?? 1), 77);
          behind += 1;
        }),
        { numRuns: RUNS },
      );
      assert.ok(behind >= RUNS);
    });
  });
}
