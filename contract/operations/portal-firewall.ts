import type { PortalEndpoint } from '../endpoint.ts';
import {
  AddressChanged,
  GenerationBody,
  History,
  HistoryQuery,
  NotedAddresses,
  NotedAddressesQuery,
  RuleNote,
  RuleNotes,
  RuleNoteSaved,
} from '../schemas/portal-firewall.ts';
import { ADDRESS_PARAMS } from './firewall.ts';
import { idParam, ORGANISATION, readAnswers, writeAnswers } from './portal-shared.ts';

const BASE = '/organisations/{organisation}/firewall';
const ADDRESS = { ...ORGANISATION, ...ADDRESS_PARAMS };
const common = { tag: 'Firewall' } as const;
const CHANGE_PROBLEMS = [
  'rule_exists',
  'filter_exists',
  'filter_unavailable',
  'limit_exceeded',
] as const;

/** Rules with notes, and the history of an address. */
export const PORTAL_FIREWALL_ENDPOINTS = [
  {
    ...common,
    operationId: 'listNotedAddresses',
    method: 'GET',
    path: `${BASE}/notes`,
    params: ORGANISATION,
    role: 'read-only',
    write: false,
    requestHeaders: ['If-None-Match'],
    query: NotedAddressesQuery,
    summary: 'List the addresses whose rules have notes or tags',
    description: 'With their tags, to find an address by what its rules are for.',
    responses: readAnswers('The addresses.', NotedAddresses),
  },
  {
    ...common,
    operationId: 'listRuleNotes',
    method: 'GET',
    path: `${BASE}/ips/{ip}/notes`,
    params: ADDRESS,
    role: 'read-only',
    write: false,
    requestHeaders: ['If-None-Match'],
    summary: 'List the notes and tags of the rules of an address',
    description: 'They are private to the organisation, and in no answer of the other interfaces.',
    responses: readAnswers('The notes.', RuleNotes),
  },
  {
    ...common,
    operationId: 'saveRuleNote',
    method: 'PUT',
    path: `${BASE}/rules/{rule}/note`,
    params: { ...ORGANISATION, rule: idParam('Id of an own rule of an address.') },
    role: 'member',
    write: true,
    summary: 'Save the note and tags of a rule',
    description: 'Replaces both. It changes no packet’s way and takes no generation.',
    body: RuleNote,
    responses: writeAnswers(200, 'Saved.', RuleNoteSaved),
  },
  {
    ...common,
    operationId: 'readHistory',
    method: 'GET',
    path: `${BASE}/ips/{ip}/history`,
    params: ADDRESS,
    role: 'read-only',
    write: false,
    requestHeaders: ['If-None-Match'],
    query: HistoryQuery,
    summary: 'Read the changes of an address',
    description:
      'Every change of what applies to the address since the organisation holds it, with who made it and the difference. 400 days are kept.',
    responses: readAnswers('The changes.', History),
  },
  {
    ...common,
    operationId: 'undoChange',
    method: 'POST',
    path: `${BASE}/ips/{ip}/undo`,
    params: ADDRESS,
    role: 'member',
    write: true,
    summary: 'Undo a change of an address',
    description:
      'Deletes the own rules and filters that the change created, and creates those that it deleted, with their notes. What was changed since stays. Restored rules have new ids. A change that is undone already changes nothing.',
    body: GenerationBody,
    responses: writeAnswers(200, 'Accepted. Not live everywhere yet.', AddressChanged, [
      ...CHANGE_PROBLEMS,
    ]),
  },
  {
    ...common,
    operationId: 'restoreAddress',
    method: 'POST',
    path: `${BASE}/ips/{ip}/restore`,
    params: ADDRESS,
    role: 'member',
    write: true,
    summary: 'Go back to an earlier state of an address',
    description:
      'Makes the own rules and filters those that were accepted as of the generation, with their notes, in one change. Groups, geo rules and defaults stay as they are.',
    body: GenerationBody,
    responses: writeAnswers(200, 'Accepted. Not live everywhere yet.', AddressChanged, [
      ...CHANGE_PROBLEMS,
    ]),
  },
] as const satisfies readonly PortalEndpoint[];
