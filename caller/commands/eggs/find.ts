import type { OfferedEggs } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { failed } from '../../exit.ts';

type OfferedEgg = OfferedEggs['data'][number];

/** The offered egg of a name; for a shipped one `flying-squid` is enough. Throws if none is offered under it. */
export async function findEgg(client: KeyClient, name: string): Promise<OfferedEgg> {
  const { data } = await client.listOfferedEggs();
  const shipped = `eggs/${name}.json`;
  const egg = data.find((one) => one.name === name) ?? data.find((one) => one.name === shipped);
  if (egg === undefined) throw failed(`no egg ${name} is offered: "portcullis eggs list"`);
  return egg;
}
