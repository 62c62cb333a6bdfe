import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Building2, Plus } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import type { Column } from '../../../components/columns.ts';
import { ListPanel } from '../../../components/ListPanel.tsx';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { formatCount } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { ActButton } from '../ActButton.tsx';
import { OwnerPill } from '../OwnerPill.tsx';
import { type Organisation, useOrganisations, useRefreshOperator } from '../queries.ts';
import { DEFAULT_LIMITS, isSlug } from './organisation-draft.ts';

const text = messages.operator.organisations;

const { columns } = text;

export function OrganisationsPanel() {
  const organisations = useOrganisations();
  const [isAdding, setAdding] = useState(false);
  return (
    <ListPanel<Organisation>
      title={text.title}
      query={organisations}
      rows={organisations.data}
      search={SEARCH}
      actions={
        <Button leftSection={<Plus size={15} aria-hidden="true" />} onClick={() => setAdding(true)}>
          {text.create}
        </Button>
      }
      above={isAdding && <CreateForm onClose={() => setAdding(false)} />}
      empty={{ icon: Building2, ...text.empty }}
      none={{ icon: Building2, ...text.none }}
      columns={COLUMNS}
      keyOf={({ slug }) => slug}
    />
  );
}

const SEARCH = {
  label: text.search,
  fieldsOf: ({ slug, name }: Organisation) => [`${slug} ${name}`],
};

const COLUMNS: readonly Column<Organisation>[] = [
  {
    title: columns.name,
    cell: ({ slug, name }) => (
      <>
        <Link className="cell-link strong" to="/operator/$slug" params={{ slug }}>
          {name}
        </Link>
        <div className="dim mono">{slug}</div>
      </>
    ),
  },
  {
    title: columns.prefixes,
    cell: ({ holdings }) => formatCount(holdings.filter(({ asn }) => asn !== null).length),
  },
  { title: columns.services, cell: ({ services }) => formatCount(services.length) },
  {
    title: columns.areas,
    className: 'dim',
    cell: ({ flags }) =>
      flags.length === 0 ? text.noFlags : flags.map((flag) => text.flags[flag]).join(', '),
  },
  { title: columns.owner, cell: ({ owner }) => <OwnerPill owner={owner} /> },
  {
    title: columns.actions,
    isTitleHidden: true,
    isNumber: true,
    cell: ({ slug }) => <ActButton slug={slug} />,
  },
];

function CreateForm({ onClose }: { onClose(): void }) {
  const [typed, setTyped] = useState({ slug: '', name: '' });
  const navigate = useNavigate();
  const refresh = useRefreshOperator();
  const create = useMutation({
    mutationFn: () =>
      personClient.saveOrganisation({
        slug: typed.slug,
        body: {
          name: typed.name.trim(),
          flags: [...DEFAULT_LIMITS.flags],
          limits: DEFAULT_LIMITS.limits,
        },
      }),
    onSuccess() {
      refresh();
      void navigate({ to: '/operator/$slug', params: { slug: typed.slug } });
    },
  });
  const organisations = useOrganisations();
  const isTaken = (organisations.data ?? []).some(({ slug }) => slug === typed.slug);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  const mistake = isTaken ? text.taken : isSlug(typed.slug) ? null : text.badSlug;
  return (
    <form className="panel stack" aria-label={text.create} onSubmit={submit}>
      <div className="form-row">
        <TextInput
          className="field"
          autoFocus
          label={text.columns.name}
          value={typed.name}
          maxLength={200}
          onChange={(event) => setTyped({ ...typed, name: event.currentTarget.value })}
          required
        />
        <TextInput
          className="field"
          label={text.slug}
          description={text.slugText}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={typed.slug}
          maxLength={63}
          error={typed.slug === '' ? null : mistake}
          onChange={(event) =>
            setTyped({ ...typed, slug: event.currentTarget.value.toLowerCase() })
          }
          required
        />
      </div>
      <ProblemNotice error={create.error} />
      <div className="row">
        <Button
          type="submit"
          loading={create.isPending}
          disabled={typed.name.trim() === '' || mistake !== null}
        >
          {text.create}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
      </div>
    </form>
  );
}
