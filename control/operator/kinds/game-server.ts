import { SERVER, type ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import type { NodeObject } from '@portcullis/contract/schemas/declared/node.ts';
import { checkVariables, isReserved } from '@portcullis/core/game-servers/eggs/variables.ts';
import { sql } from 'kysely';
import { loadStoredEgg, saveEggs } from '../../game-servers/index.ts';
import { invalidField, type Problem } from '../../problem.ts';
import { findEgg } from '../library/eggs.ts';
import { admitServer } from '../places.ts';
import {
  APPENDED,
  type Beside,
  defineKind,
  type FilePart,
  type FileStep,
  type Outside,
  type Refuse,
  type Written,
} from '../kind.ts';
import { explainClosedPorts } from './closed-ports.ts';
import { withSettings } from '../people-settings.ts';
import {
  hasOtherPorts,
  PRIMARY,
  removeServers,
  saveServers,
  type ServerAllocation,
  type StoredServer,
  serverTable,
} from './server-table.ts';

/** A server as a file or a request may write it: with one allocation instead of a list. */
type ServerText = Omit<ServerObject, 'allocations'> & {
  readonly allocation?: Pick<ServerAllocation, 'ip' | 'port'>;
  readonly allocations?: ServerObject['allocations'];
};

interface BesideServer {
  readonly external_id?: string | null;
  readonly egg_document?: object | null;
}

/** The id of a billing system, and an egg of its own as a document. */
export const besideServer: Required<Beside<StoredServer['facts']>> = {
  async complete(tx, given, { egg_document: document }: BesideServer, { read }) {
    if (document === undefined || document === null) return given;
    const file = read(document);
    const { egg = nameOf(document) }: { readonly egg?: string } = given;
    if (!file.ok) throw invalidField('/egg_document', file.reason);
    await saveEggs(tx, [file.found]);
    return { ...given, egg, egg_digest: file.found.digest };
  },
  async save(tx, uuid, { external_id: externalId }: BesideServer) {
    if (externalId === undefined) return;
    await sql`update game_servers set external_id = ${externalId} where uuid = ${uuid}`.execute(tx);
  },
  show: ({ externalId, build, setByPeople }) => ({
    external_id: externalId,
    build,
    set_by_people: setByPeople,
  }),
};

export const server = defineKind<typeof SERVER, ServerObject, StoredServer['facts']>(SERVER, {
  place: '/game_servers/*',
  write: (many) => many.map(writeServer),
  open: ({ facts: { setByPeople } }) => setByPeople,
  key: ({ uuid }) => uuid,
  organisation: ({ organisation }) => organisation,
  refersTo: [
    { kind: 'organisation', pointer: '/organisation', key: ({ organisation }) => organisation },
    {
      kind: 'service',
      pointer: '/service',
      key: ({ service }) => String(service),
      accepts: ({ organisation }, named) => Reflect.get(named, 'organisation') === organisation,
      missing: ({ organisation, service }) => `${organisation} has no service ${service}.`,
    },
    { kind: 'node', pointer: '/node', key: ({ node }) => node, check: checkMounts },
  ],
  /** An egg that is named by its digest is a stored one: the library may have another of the name by now. */
  async outside(tx, { egg, egg_digest: digest }: Partial<ServerObject>, library) {
    const { compile } = library;
    const stored = digest === undefined ? null : await loadStoredEgg(tx, digest);
    const reason = 'There is no stored egg of this digest: leave it out.';
    const missing =
      digest === undefined ? await findEgg(tx, library, egg ?? '') : { ok: false as const, reason };
    const file = stored === null ? missing : { ok: true as const, found: stored };
    if (file.ok && stored === null) await saveEggs(tx, [file.found]);
    return { eggs: new Map([[egg ?? '', file]]), compile };
  },
  complete(given, { eggs }) {
    const text = given as unknown as ServerText;
    const file = eggs.get(text.egg);
    const found = file?.ok === true ? file.found.digest : '';
    return {
      egg_digest: given.egg_digest ?? found,
      variables: textsOf(text.variables),
      allocations: allocationsOf(text),
    };
  },
  check(object, refuse, outside) {
    checkEgg(object, refuse, outside);
    checkAllocations(object, refuse);
    checkOpening(object, refuse);
    checkCores(object, refuse);
  },
  checkAll(servers, refuse) {
    const seen = new Set<string>();
    for (const [index, { allocations }] of servers.entries()) {
      for (const bound of boundPorts(allocations)) {
        if (seen.has(bound)) refuse(index, '', `The allocation ${bound} is here twice.`);
        seen.add(bound);
      }
    }
  },
  checkStored(servers, others, refuse) {
    const byHand = others.filter(({ owner }) => owner === 'portal');
    const taken = new Map(
      byHand.flatMap((row) =>
        boundPorts(row.object.allocations).map((bound) => [bound, row.object] as const),
      ),
    );
    for (const [index, { uuid, allocations }] of servers.entries()) {
      for (const bound of boundPorts(allocations)) {
        const other = taken.get(bound);
        if (other === undefined || other.uuid === uuid) continue;
        refuse(index, `${bound} is that of ${other.name}, which was made by hand.`);
      }
    }
  },
  admit: admitServer,
  load: serverTable.load,
  adopt: serverTable.adopt,
  save: saveServers,
  remove: removeServers,
  subject: ({ name, organisation }) => `server ${name} (${organisation})`,
  summary({ egg, node, allocations: [first] }) {
    return `${egg} on ${node}, ${first?.ip} port ${first?.port}`;
  },
  /** Variables are named by `further`, without their values: some are passwords of a game. */
  shown(object) {
    const { egg_digest: _, variables: _v, allocation: _a, ...others } = object as ServerText;
    return others;
  },
  further(before, after) {
    const { object, facts } = before;
    const isOther = object.egg === after.egg && object.egg_digest !== after.egg_digest;
    return [
      describeVariables(object.variables, after.variables),
      isOther ? 'the egg changed' : '',
      // Its container has its ports from its start on.
      facts.provisioned && hasOtherPorts(object, after)
        ? 'a server that runs takes it at its next start'
        : '',
    ];
  },
  ending: ({ object: { node }, facts: { provisioned } }) =>
    provisioned ? `its files stay on ${node} for a time` : '',
  keeps: (object, { object: before, facts }) => withSettings(object, before, facts.setByPeople),
  losses({ before: { object, facts }, after, byHand }) {
    const { uuid, name, node, organisation } = object;
    if (after === null) {
      if (!facts.provisioned || byHand) return [];
      const loss = `${name} (${uuid}) of ${organisation} is not in the file any more: its node would stop it for good, and keep its files for a time.`;
      return [loss];
    }
    const losses: string[] = [];
    if (after.organisation !== organisation) {
      const loss = `${name} would pass from ${organisation} to ${after.organisation} with its files: the people of ${organisation} and all who were invited lose it at once.`;
      losses.push(loss);
    }
    if (facts.provisioned && after.node !== node) {
      const loss = `${name} would be built anew on ${after.node}, without its files: those stay on ${node} for a time.`;
      losses.push(loss);
    }
    return losses;
  },
  beside: besideServer,
  remarks: explainClosedPorts,
});

const EGG_NAME_LENGTH = 200;

/** The name in the document of an egg. */
function nameOf(document: object): string {
  const { name } = document as { readonly name?: unknown };
  if (typeof name === 'string' && name.trim() !== '') return name.trim().slice(0, EGG_NAME_LENGTH);
  throw noEgg();
}

export function noEgg(): Problem {
  return invalidField('/egg', 'A server needs an egg: a name of the library, or egg_document.');
}

/** Variables as text, because YAML reads `true` and `25565` as other types. */
function textsOf(
  variables: Readonly<Record<string, string | number | boolean>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).map(([env, value]) => [env, String(value)]));
}

/** The one allocation has the protocols of the egg. */
function allocationsOf({ allocation, allocations }: ServerText): ServerObject['allocations'] {
  if (allocations !== undefined || allocation === undefined) return allocations ?? [];
  const { ip, port } = allocation;
  return [{ ip, port, protocols: null, variable: null, name: null }];
}

/** A port with the protocols of the egg is the one allocation. */
function writeServer(one: Written<ServerObject, StoredServer['facts']>): FilePart {
  const path: FileStep[] = ['game_servers', APPENDED];
  const [first, another] = one.object.allocations;
  if (first === undefined || another !== undefined || first.protocols !== null) {
    return { path, value: one.fields, of: [one] };
  }
  const { allocations: _, ...fields } = one.fields;
  const allocation = { ip: first.ip, port: first.port };
  return { path, value: { ...fields, allocation }, of: [one] };
}

function boundPorts(allocations: readonly ServerAllocation[]): string[] {
  return [...new Set(allocations.map(({ ip, port }) => `${ip} port ${port}`))];
}

function checkEgg(object: ServerObject, refuse: Refuse, outside: Outside): void {
  const { egg: name, egg_digest: digest, image, variables } = object;
  const { eggs, compile, mayKeepEggs = false } = outside;
  const file = eggs.get(name) ?? { ok: false, reason: `There is no egg ${name}.` };
  const isFound = file.ok && (digest === '' || digest === file.found.digest);
  if (mayKeepEggs && !isFound && digest !== '') return;
  if (!file.ok) {
    refuse('/egg', file.reason);
    return;
  }
  const { egg } = file.found;
  if (digest !== file.found.digest) {
    refuse('/egg_digest', `The egg ${name} has the digest ${file.found.digest}.`);
  }
  const labels = egg.images.map(({ label }) => label);
  if (image !== null && !labels.includes(image)) {
    refuse('/image', `The egg has no such image; there are ${labels.join(', ')}.`);
  }
  for (const { env, detail } of checkVariables(egg.variables, variables, compile)) {
    refuse(Object.hasOwn(variables, env) ? `/variables/${env}` : '/egg', detail);
  }
}

function checkAllocations({ allocation, allocations = [] }: ServerText, refuse: Refuse): void {
  const isBoth = allocation !== undefined && allocations[0]?.protocols !== null;
  if (allocations.length === 0 || isBoth) {
    refuse('', 'A server has either allocation or allocations.');
    return;
  }
  const seen = new Set<string>();
  const once = (pointer: string, key: string, what: string): void => {
    if (seen.has(key)) refuse(pointer, `${what} is here twice.`);
    seen.add(key);
  };
  for (const [index, { ip, port, protocols, variable, name }] of allocations.entries()) {
    const at = `/allocations/${index}`;
    once(at, `port ${ip} ${port}`, `The allocation ${ip} port ${port}`);
    if (name !== null) once(`${at}/name`, `name ${name}`, `The name ${name}`);
    if (variable !== null) {
      once(`${at}/variable`, `variable ${variable}`, `The variable ${variable}`);
      if (isReserved(variable)) refuse(`${at}/variable`, `${variable} is set for every server.`);
    }
    if (name === PRIMARY && index > 0) {
      refuse(`${at}/name`, `${PRIMARY} is the name of the first one.`);
    }
    const isPlain = allocations.length === 1 && variable === null && name === null;
    if (protocols === null && !isPlain) {
      refuse(
        `${at}/protocols`,
        'Only a server with one port and no names for it leaves this open.',
      );
    }
  }
}

function checkOpening(
  { open_while_running: open, allocations }: ServerObject,
  refuse: Refuse,
): void {
  if (typeof open === 'boolean') return;
  const known = new Set([PRIMARY, ...allocations.flatMap(({ name }) => name ?? [])]);
  for (const [index, name] of open.entries()) {
    if (known.has(name)) continue;
    const names = [...known].join(', ');
    refuse(`/open_while_running/${index}`, `The server has no port "${name}"; it has ${names}.`);
  }
}

function checkCores({ limits: { cores } }: ServerObject, refuse: Refuse): void {
  for (const item of cores?.split(',') ?? []) {
    const [low = 0, high = low] = item.split('-').map(Number);
    if (low <= high) continue;
    refuse('/limits/cores', `${item} begins behind its end: write ${high}-${low}.`);
  }
}

/** Mounts are those of its node, and for its egg. */
function checkMounts({ mounts, node, egg }: ServerObject, named: object, refuse: Refuse): void {
  const { mounts: offered } = named as NodeObject;
  for (const [index, name] of mounts.entries()) {
    const mount = offered.find((one) => one.name === name);
    const at = `/mounts/${index}`;
    if (mount === undefined) {
      const names = offered.map((one) => one.name).join(', ') || 'none';
      refuse(at, `The node ${node} has no mount ${name}; it has ${names}.`);
    } else if (mount.eggs.length > 0 && !mount.eggs.includes(egg)) {
      refuse(at, `The mount ${name} is for servers of ${mount.eggs.join(', ')}.`);
    }
  }
}

/** Names the variables that differ. */
function describeVariables(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): string {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((env) => before[env] !== after[env]);
  return changed.length === 0 ? '' : `variables ${changed.toSorted().join(', ')}`;
}
