import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_BODY,
} from '../../endpoint.ts';
import { ServerSettings, ServerSettingsChange } from '../../schemas/server-settings.ts';
import { SERVER_PARAMS } from '../game-servers.ts';

const common = {
  tag: 'Game servers',
  flag: null,
  ability: 'game-servers.settings',
  path: '/game-servers/{slice}/settings',
  params: SERVER_PARAMS,
} as const;

const MOTD = {
  env: 'MOTD',
  name: 'Message of the day',
  description: 'What players see in their list of servers.',
  default: 'A Minecraft server',
  rules: ['required', 'string', 'max:100'],
  input: {
    kind: 'text',
    choices: [],
    on: null,
    off: null,
    whole: false,
    least: null,
    most: 100,
  },
  value: 'Come in',
} as const;

const EXAMPLE = {
  data: {
    name: 'Survival',
    egg: { name: 'eggs/flying-squid.json', title: 'Minecraft: Java Edition' },
    image: { used: 'Minecraft (flying-squid)', chosen: null, labels: ['Minecraft (flying-squid)'] },
    start_with_host: 'as_before',
    stop_seconds: null,
    stop_seconds_of_egg: 60,
    crashes: { restart: true, within_seconds: 60, tries: 1 },
    variables: [MOTD],
    fixed: [],
  },
  meta: { state: 'running', at_next_start: ['/variables/MOTD'] },
} as const;

/** The settings of a server for its people. */
export const SERVER_SETTINGS_ENDPOINTS = [
  {
    ...common,
    operationId: 'readServerSettings',
    method: 'GET',
    write: false,
    waits: true,
    requestHeaders: ['If-None-Match'],
    summary: 'Read the settings of a server',
    description:
      'What its people may set, with what each variable is for and takes, and what of it waits for a restart. Its `ETag` is what a change takes as `If-Match`. A person needs the right `startup.read`.',
    responses: readResponses(['not_found'], {
      description: 'The settings.',
      schema: ServerSettings,
      example: EXAMPLE,
      links: {
        Change: {
          operationId: 'changeServerSettings',
          description: 'Only if nobody changed them since.',
          parameters: { slice: '$request.path.slice', 'If-Match': '$response.header.ETag' },
        },
      },
    }),
  },
  {
    ...common,
    operationId: 'changeServerSettings',
    method: 'PATCH',
    write: true,
    requestHeaders: ['If-Match'],
    summary: 'Change the settings of a server',
    description:
      'All of it or nothing. A person needs `settings.rename` for the name, `startup.docker-image` for the image, and `startup.update` for the others. What the fleet file of the operator states is changed there. A server that runs takes variables and image at its next start.',
    body: ServerSettingsChange,
    bodyExamples: {
      variables: { variables: { MOTD: 'Come in', MAX_PLAYERS: 30 } },
      crashes: { crashes: { restart: false } },
    },
    responses: {
      ...refusals(COMMON, WITH_BODY, ['not_found', 'precondition_failed', 'managed_by_fleet_file']),
      200: {
        description: 'The settings as they are now.',
        schema: ServerSettings,
        headers: RATE_HEADERS,
        example: {
          ...EXAMPLE,
          message: 'Saved. A server that runs takes it at its next start: MOTD.',
        },
      },
    },
  },
] as const satisfies readonly Endpoint[];
