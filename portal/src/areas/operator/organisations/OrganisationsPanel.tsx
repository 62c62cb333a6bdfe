import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Building2, Plus } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { SearchField } from '../../../components/SearchField.tsx';
import { formatCount } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { ActButton } from '../ActButton.tsx';
import { OwnerPill } from '../OwnerPill.tsx';
import { type Organisation, useOrganisations, useRefreshOperator } from '../queries.ts';
import { DEFAULT_LIMITS, isSlug } from './organisation-draft.ts';

const text = messages.operator.organisations;

export function OrganisationsPanel() {
  const organisations = useOrganisations();
  const [search, setSearch] = useState('');
  const [isAdding, setAdding] = useState(false);
  return (
    <section className="card" aria-label={text.title}>
      <div className="tools card-pad">
        <SearchField label={text.search} value={search} onChange={setSearch} />
        <div className="row-end">
          <Button
            leftSection={<Plus size={15} aria-hidden="true" />}
            onClick={() => setAdding(true)}
          >
            {text.create}
          </Button>
        </div>
      </div>
      {isAdding && <CreateForm onClose={() => setAdding(false)} />}
      <Loaded query={organisations}>
        {(list) => {
          const shown = list.filter(({ slug, name }) =>
            `${slug} ${name}`.toLowerCase().includes(search.trim().toLowerCase()),
          );
          if (list.length === 0) {
            return <EmptyState icon={Building2} title={text.empty.title} text={text.empty.text} />;
          }
          if (shown.length === 0) {
            return <EmptyState icon={Building2} title={text.none.title} text={text.none.text} />;
          }
          return <OrganisationTable organisations={shown} />;
        }}
      </Loaded>
    </section>
  );
}

function OrganisationTable({ organisations }: { readonly organisations: readonly Organisation[] }) {
  return (
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{text.columns.name}</th>
            <th scope="col">{text.columns.prefixes}</th>
            <th scope="col">{text.columns.services}</th>
            <th scope="col">{text.columns.areas}</th>
            <th scope="col">{text.columns.owner}</th>
            <th scope="col">
              <span className="hidden">{text.columns.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {organisations.map(({ slug, name, owner, flags, holdings, services }) => (
            <tr key={slug}>
              <td>
                <Link className="cell-link strong" to="/operator/$slug" params={{ slug }}>
                  {name}
                </Link>
                <div className="dim mono">{slug}</div>
              </td>
              <td>{formatCount(holdings.filter(({ asn }) => asn !== null).length)}</td>
              <td>{formatCount(services.length)}</td>
              <td className="dim">
                {flags.length === 0
                  ? text.noFlags
                  : flags.map((flag) => text.flags[flag]).join(', ')}
              </td>
              <td>
                <OwnerPill owner={owner} />
              </td>
              <td className="num">
                <ActButton slug={slug} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

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
