import { countOf } from '@portcullis/core/count.ts';
import {
  type Current,
  type Kind,
  KINDS,
  type Outside,
  type StoredObjects,
  type WrittenObjects,
} from '../../index.ts';

/** The comments at the top of an exported file: what to do with it, and what it does not have. */
export function describeExport(
  stored: StoredObjects,
  { places, left, secrets }: WrittenObjects,
  outside: Outside,
): string[] {
  const names = secrets.map(({ name }) => name);
  const byHand = countByHand(
    places.flatMap(({ of }) => of),
    stored,
  );
  const kept = keptEggs(stored, outside);
  return [
    'A fleet file of what was there, by `portcullis fleet export`. What is at its default is left out.',
    '',
    '  portcullis fleet plan FILE --adopt      shows what applying it would change: nothing, as long as all is as it was',
    '  portcullis fleet apply FILE --adopt     hands it all to this file, which alone changes it from then on',
    '',
    'Rules and filters that callers wrote on addresses are not part of it, and stay. API keys are without their secrets:',
    'each keeps the one that it has, and a key that is made anew gets another, which `fleet apply` prints once.',
    'Variables of game servers are written as they are, also a password of a game.',
    ...(byHand.length > 0
      ? ['', `Made by hand, and handed to this file by --adopt: ${byHand.join(', ')}.`]
      : []),
    ...(byHand.length > 0 ? ['Delete here what should stay with those who made it.'] : []),
    ...(names.length > 0
      ? [
          '',
          'Secrets of webhooks are read from the environment. Without these variables the file is refused:',
          ...names.map(item),
        ]
      : []),
    ...(kept.length > 0
      ? [
          '',
          'Eggs that this installation alone has, named by their digests. Elsewhere, put the egg beside this file:',
          ...kept.map(item),
        ]
      : []),
    ...(left.length > 0
      ? [
          '',
          'Left out, and not changed by this file:',
          ...left.map(({ subject, reason }) => item(`${subject}: ${reason}`)),
        ]
      : []),
  ];
}

function item(text: string): string {
  return `  - ${text}`;
}

/** `2 edges, 1 key`. */
function countByHand(written: readonly Current<object>[], stored: StoredObjects): string[] {
  const known = new Set(written);
  return (KINDS as readonly Kind[]).flatMap(({ name }) => {
    const rows: readonly Current<object>[] = stored[name as keyof StoredObjects];
    const count = rows.filter((row) => row.owner === 'portal' && known.has(row)).length;
    return count === 0 ? [] : [countOf(count, name.replaceAll('-', ' '))];
  });
}

/** Eggs of servers that a reader of the file does not find under their names. */
function keptEggs({ server }: StoredObjects, { eggs }: Outside): string[] {
  const kept = server.filter(({ object: { egg, egg_digest: digest } }) => {
    const file = eggs.get(egg);
    return !(file?.ok === true && file.found.digest === digest);
  });
  return [...new Set(kept.map(({ object: { egg } }) => egg))];
}
