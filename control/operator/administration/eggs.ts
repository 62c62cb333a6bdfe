import { operatorActor, recordAudit } from '../../access/index.ts';
import type { Db, Reader } from '../../db/database.ts';
import { type EggSource, libraryOf, parseEggText } from '../fleet-file/read/egg-files.ts';
import { MAX_EGG_BYTES } from '../fleet-file/read/text-file.ts';
import { loadNodeStatuses, loadStoredEgg, type NodeImages } from '../../game-servers/index.ts';
import type { Handlers } from '../../http/operations/handlers.ts';
import { notSeen } from '../../http/operations/not-found.ts';
import type { Answer, OperatorCall, Writing } from '../../http/operations/operation.ts';
import { invalidField, Problem } from '../../problem.ts';
import type { FetchText } from '../../webhooks/index.ts';
import { hostsOf, imagesOf, type ProgramName } from '../egg-hosts.ts';
import { compareEgg, listLibrary, server } from '../index.ts';
import { eggView } from './views.ts';

type Names = 'listEggs' | 'readEgg' | 'readServerEgg' | 'listImages' | 'makeImage';

export interface EggDeps {
  readonly eggs: EggSource;
  readonly fetchText: FetchText;
  readonly nodeImages: NodeImages;
  readonly program: ProgramName;
}

/** Eggs: the library, those of others, and the images that nodes make for them. */
export function createEggHandlers(deps: EggDeps): Pick<Handlers, Names> {
  const { eggs, program } = deps;
  return {
    async listEggs(_call, db) {
      const nodes = await loadNodeStatuses(db);
      const data = (await listLibrary(db, libraryOf(eggs))).map((entry) => ({
        ...eggView(entry.name, entry.found, hostsOf(entry.found.egg, nodes, program)),
        shipped: entry.isShipped,
        offered: entry.offered,
        source: entry.source,
      }));
      return { status: 200, body: { data } };
    },
    readEgg: (call, db) => readEgg(call, db, deps),
    async readServerEgg({ params: { uuid } }, db) {
      const [row] = await server.load(db, [uuid]);
      const found = row && (await loadStoredEgg(db, row.object.egg_digest));
      if (row === undefined || found === null || found === undefined) throw notSeen();
      const { egg: name, image } = row.object;
      const hosts = hostsOf(found.egg, await loadNodeStatuses(db), program, image);
      return { status: 200, body: { data: { egg: eggView(name, found, hosts) } } };
    },
    async listImages(_call, db) {
      return { status: 200, body: { data: await listImages(db) } };
    },
    makeImage: (call, db) => makeImage(call, db, deps.nodeImages),
  };
}

async function listImages(db: Db | Reader) {
  return (await loadNodeStatuses(db)).flatMap(imagesOf);
}

async function readEgg(
  call: Parameters<Handlers['readEgg']>[0],
  db: Reader,
  { eggs, fetchText, program }: EggDeps,
): Promise<Answer> {
  const { url, text, name } = call.body;
  if ((url === undefined) === (text === undefined)) {
    throw new Problem('invalid_request', 'Give one of the two: url or text.');
  }
  if (url !== undefined) await auditAct(call, 'egg.fetch', 'eggs', { url });
  const fetched = url === undefined ? null : await fetchText(url, MAX_EGG_BYTES);
  if (fetched !== null && !fetched.ok) throw invalidField('/url', fetched.reason);
  const read = parseEggText(fetched === null ? (text ?? '') : fetched.value, eggs);
  if (!read.ok) throw invalidField(url === undefined ? '/text' : '/url', read.reason);
  const { document, found } = read;
  const hosts = hostsOf(found.egg, await loadNodeStatuses(db), program);
  const { notes } = found;
  const egg = eggView(found.egg.name, found, hosts);
  const change = name === undefined ? null : await compareEgg(db, name, found, libraryOf(eggs));
  return { status: 200, body: { data: { egg, document, notes, change } } };
}

async function makeImage(
  call: Parameters<Handlers['makeImage']>[0],
  db: Reader,
  nodeImages: NodeImages,
): Promise<Answer> {
  const { name: node, image } = call.params;
  const nodes = await loadNodeStatuses(db);
  const known = nodes.find(({ name }) => name === node);
  if (known === undefined) throw new Problem('not_found', 'There is no such node.');
  if (!imagesOf(known).some(({ name }) => name === image)) {
    throw new Problem('not_found', `The node ${node} makes no such image.`);
  }
  await auditAct(call, 'node.image', `node:${node}`, { image });
  const answer = await nodeImages.make(node, image);
  if (answer.kind === 'silent') {
    throw new Problem('unavailable', `The node ${node} does not answer.`);
  }
  if (answer.kind === 'refused') throw new Problem('invalid_request', answer.reason);
  return { status: 200, body: { data: await listImages(db) } };
}

/** Before it is done, as what leaves this host cannot be taken back. */
async function auditAct(
  call: OperatorCall & Writing,
  action: string,
  target: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  const actor = operatorActor(call);
  await call.write((tx) =>
    recordAudit(tx, { actor, organisationId: null, action, target, detail }),
  );
}
