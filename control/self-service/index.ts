import type { SELF_SERVICE_ENDPOINTS } from '@portcullis/contract/operations/servers/self-service.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { type EggLibrary, findPlaces, listLibrary } from '../operator/index.ts';
import { deleteServer, makeServer, requireOffered } from './make.ts';
import { listServices, loadQuota } from './quota.ts';
import { offeredView, placeView } from './views.ts';

type Operations = (typeof SELF_SERVICE_ENDPOINTS)[number]['operationId'];

/** Servers that owners of an organisation make and delete, within its quota. */
export function createSelfService(library: EggLibrary): {
  readonly handlers: Pick<Handlers, Operations>;
} {
  return {
    handlers: {
      async readServerQuota({ by }, db) {
        const quota = await loadQuota(db, by.organisationId);
        const services = await listServices(db, by.organisationId);
        return { status: 200, body: { data: { ...quota, services } } };
      },
      async listOfferedEggs(_call, db) {
        const entries = await listLibrary(db, library);
        const data = entries.filter(({ offered }) => offered).map(offeredView);
        return { status: 200, body: { data } };
      },
      async findServerPlaces({ by: { organisationId }, body }, db) {
        const { limits, image = null } = body;
        const { egg } = await requireOffered(db, library, body.egg);
        const places = await findPlaces(db, { limits, image, organisationId }, egg);
        return { status: 200, body: { data: places.map(placeView) } };
      },
      makeGameServer: (call, tx) => makeServer(call, tx, library),
      deleteGameServer: (call, tx) => deleteServer(call, tx, library),
    },
  };
}
