import { Button } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ShieldCheck } from 'lucide-react';
import { useCallback, useState } from 'react';
import { DownloadMenu } from '../../components/DownloadMenu.tsx';
import { EmptyState } from '../../components/EmptyState.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { Loading } from '../../components/Loading.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { formatCount, formatMoment } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import '../../styles/attacks.css';
import { attacksCsv } from './attack-rows.ts';
import { type AttackSearch, parseTerms } from './attack-search.ts';
import { AttackTable } from './AttackTable.tsx';
import { type AttackList, useAttackList } from './queries.ts';
import { SearchTools } from './SearchTools.tsx';
import { Timeline } from './Timeline.tsx';

const text = messages.attacks;
const FIRST_LIMIT = 300;
const NOWHERE = {};

export function AttacksPage() {
  const search = useSearch({ from: '/attacks' });
  const navigate = useNavigate();
  const [limit, setLimit] = useState(FIRST_LIMIT);
  const parsed = parseTerms(search.q ?? '');
  const list = useAttackList(search, parsed.ok ? parsed.where : NOWHERE, limit);
  const change = useCallback(
    (next: AttackSearch) => void navigate({ to: '/attacks', search: next, replace: true }),
    [navigate],
  );
  const attacks = list.data?.attacks ?? [];
  return (
    <>
      <PageHeader title={text.title} lead={text.lead}>
        {attacks.length > 0 && (
          <DownloadMenu name="attacks" toCsv={() => attacksCsv(attacks)} toJson={() => list.data} />
        )}
      </PageHeader>
      <SearchTools search={search} onChange={change} />
      {list.data !== undefined ? (
        <Shown
          list={list.data}
          search={search}
          isLoading={list.isPlaceholderData}
          onMore={() => setLimit(limit * 2)}
        />
      ) : (
        <section className="card">
          {list.error !== null ? (
            <ErrorState error={list.error} onRetry={() => void list.refetch()} />
          ) : (
            <Loading rows={10} />
          )}
        </section>
      )}
    </>
  );
}

interface ShownProps {
  readonly list: AttackList;
  readonly search: AttackSearch;
  readonly isLoading: boolean;
  onMore(): void;
}

function Shown({ list: { attacks, meta }, search, isLoading, onMore }: ShownProps) {
  const clamped = meta.from_clamped && (
    <Notice kind="info">{text.clamped(formatMoment(new Date(meta.from)))}</Notice>
  );
  if (attacks.length === 0) {
    const { title, text: hint } = search.ongoing === true ? text.emptyOngoing : text.empty;
    return (
      <>
        {clamped}
        <section className="card">
          <EmptyState icon={ShieldCheck} title={title} text={hint} />
        </section>
      </>
    );
  }
  return (
    <>
      {clamped}
      <Timeline attacks={attacks} from={meta.from} to={meta.to} />
      <section className="card grid" aria-label={text.title} aria-busy={isLoading}>
        <AttackTable attacks={attacks} />
        <div className="grid-foot row">
          <span role="status">
            {text.shown(formatCount(attacks.length), formatCount(meta.total))}
          </span>
          {attacks.length < meta.total && (
            <Button size="compact-sm" variant="default" loading={isLoading} onClick={onMore}>
              {text.more}
            </Button>
          )}
        </div>
      </section>
    </>
  );
}
