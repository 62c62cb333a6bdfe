import type { Db } from '@portcullis/control/db/database.ts';
import { admitNode, enrolNode } from '@portcullis/control/game-servers/index.ts';
import { failed } from '../exit.ts';
import { readCredential, saveCredential } from '../node-credential.ts';
import { operator } from './first-start.ts';

/** What this machine's node presents: what it has, while control knows it by that, else a new credential. */
export async function enrolHere(db: Db, name: string, file: string): Promise<string> {
  const held = readCredential(file);
  if (held !== null && (await admitNode(db, name, held)).ok) return held;
  const fresh = await db.transaction().execute((tx) => enrolNode(tx, name, operator()));
  if (fresh === null) throw failed(`the fleet has no node ${name}`);
  saveCredential(file, fresh);
  return fresh;
}
