import { Select } from '@mantine/core';
import type { DeclaredServer } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { WriteDialog } from '../../../components/forms/WriteDialog.tsx';
import type { Fields } from '../../../components/forms/WriteForm.tsx';
import { moveServerMessages as text } from '../../../messages/servers/move.ts';
import { personClient } from '../../../session/session.ts';
import { useOrganisations } from '../queries.ts';

interface Props {
  readonly server: Pick<DeclaredServer, 'uuid' | 'name' | 'organisation'>;
  onClose(): void;
}

/** Passes a server to another organisation, which the dialog says to lose it to its former people. */
export default function MoveServer({ server: { uuid, name, organisation }, onClose }: Props) {
  return (
    <WriteDialog
      title={text.title(name)}
      submit={text.submit}
      isFinal
      initial={EMPTY}
      refusal={({ slug, service }) => slug === null || service === null}
      write={({ slug, service }) => {
        const body = { organisation: slug ?? '', service: Number(service) };
        return personClient.changeServer({ uuid, query: { allow_losses: true }, body });
      }}
      onClose={onClose}
    >
      {(form) => (
        <>
          <p>{text.text}</p>
          <PlaceFields form={form} from={organisation} />
        </>
      )}
    </WriteDialog>
  );
}

interface Draft extends Record<string, string | null> {
  slug: string | null;
  service: string | null;
}

const EMPTY: Draft = { slug: null, service: null };

function PlaceFields({ form, from }: { readonly form: Fields<Draft>; readonly from: string }) {
  const { slug } = form.values;
  const organisations = useOrganisations();
  const services = useQuery({
    queryKey: ['operator', 'services', slug],
    enabled: slug !== null,
    queryFn: async ({ signal }) =>
      (await personClient.listServices({ organisation: slug ?? '' }, { signal })).data,
  });
  const others = (organisations.data ?? []).filter((one) => one.slug !== from);
  return (
    <>
      <Select
        label={text.organisation}
        data={others.map((one) => ({ value: one.slug, label: one.name }))}
        searchable
        required
        {...form.getInputProps('slug')}
        onChange={(chosen) => form.setValues({ slug: chosen, service: null })}
      />
      <Select
        label={text.service}
        data={(services.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }))}
        disabled={slug === null}
        required
        description={services.data?.length === 0 ? text.noService : undefined}
        {...form.getInputProps('service')}
      />
    </>
  );
}
