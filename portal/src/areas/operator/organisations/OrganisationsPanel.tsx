import type { DeclaredOrganisation } from '@portcullis/client/index.ts';
import { TextInput } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { Building2 } from 'lucide-react';
import type { Column } from '../../../components/list/columns.ts';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { formatCount } from '../../../format.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { ActButton } from '../ActButton.tsx';
import { OwnerPill } from '../OwnerPill.tsx';
import { useOrganisations } from '../queries.ts';
import { FLAGS, isSlug } from './organisation-draft.ts';

const text = operatorMessages.organisations;

const { columns } = text;

export function OrganisationsPanel() {
  const organisations = useOrganisations();
  return (
    <ListPanel<DeclaredOrganisation>
      title={text.title}
      query={organisations}
      rows={organisations.data}
      search={SEARCH}
      add={{ label: text.create, form: (close) => <CreateForm onClose={close} /> }}
      empty={{ icon: Building2, ...text.empty }}
      none={{ icon: Building2, ...text.none }}
      columns={COLUMNS}
      keyOf={({ slug }) => slug}
    />
  );
}

const SEARCH = {
  label: text.search,
  fieldsOf: ({ slug, name }: DeclaredOrganisation) => [`${slug} ${name}`],
};

const COLUMNS: readonly Column<DeclaredOrganisation>[] = [
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
  { title: columns.prefixes, cell: ({ prefixes }) => formatCount(prefixes) },
  { title: columns.services, cell: ({ services }) => formatCount(services) },
  {
    title: columns.areas,
    className: 'dim',
    cell: ({ flags }) =>
      flags.length === 0 ? text.noFlags : flags.map((flag) => text.flags[flag]).join(', '),
  },
  { title: columns.owner, card: 'end', cell: ({ owner }) => <OwnerPill owner={owner} /> },
  {
    title: columns.actions,
    isTitleHidden: true,
    isNumber: true,
    cell: ({ slug }) => <ActButton slug={slug} />,
  },
];

function CreateForm({ onClose }: { onClose(): void }) {
  const navigate = useNavigate();
  const organisations = useOrganisations();
  const isTaken = (wanted: string): boolean =>
    (organisations.data ?? []).some(({ slug }) => slug === wanted);
  const mistakeIn = (slug: string): string | null => {
    if (isTaken(slug)) return text.taken;
    return isSlug(slug) ? null : text.badSlug;
  };
  return (
    <WriteForm
      label={text.create}
      layout="panel"
      initial={{ slug: '', name: '' }}
      submit={text.create}
      refusal={({ slug, name }) => name.trim() === '' || mistakeIn(slug) !== null}
      write={({ slug, name }) =>
        personClient.saveOrganisation(
          { slug, body: { name: name.trim(), flags: FLAGS } },
          { ifNoneMatch: '*' },
        )
      }
      onDone={(_, { slug }) => void navigate({ to: '/operator/$slug', params: { slug } })}
      onCancel={onClose}
    >
      {({ values, getInputProps, setFieldValue }) => (
        <div className="form-row">
          <TextInput
            className="field"
            autoFocus
            label={text.columns.name}
            maxLength={200}
            required
            {...getInputProps('name')}
          />
          <TextInput
            className="field"
            label={text.slug}
            description={text.slugText}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            maxLength={63}
            required
            {...getInputProps('slug')}
            error={values.slug === '' ? null : mistakeIn(values.slug)}
            onChange={({ currentTarget }) =>
              setFieldValue('slug', currentTarget.value.toLowerCase())
            }
          />
        </div>
      )}
    </WriteForm>
  );
}
