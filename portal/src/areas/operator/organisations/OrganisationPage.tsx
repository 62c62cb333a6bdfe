import { useParams } from '@tanstack/react-router';
import { Building2 } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loading } from '../../../components/Loading.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { PageHeader } from '../../../components/PageHeader.tsx';
import { RoleGate } from '../../../components/RoleGate.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { ActButton } from '../ActButton.tsx';
import { OwnerPill } from '../OwnerPill.tsx';
import { useOrganisation } from '../queries.ts';
import { HoldingsCard } from './HoldingsCard.tsx';
import { LimitsCard } from './LimitsCard.tsx';
import { ServersCard } from './ServersCard.tsx';
import { SuggestionsCard } from './SuggestionsCard.tsx';
import { ThresholdsCard } from './ThresholdsCard.tsx';

const KindCards = lazy(() => import('../declared/KindCards.tsx'));
const text = operatorMessages.organisations;

/** One organisation as operators see it: what it may, what it holds, and when its traffic is an attack. */
export function OrganisationPage() {
  const { slug } = useParams({ from: '/operator/$slug' });
  return (
    <RoleGate needs="operator">
      <Detail key={slug} slug={slug} />
    </RoleGate>
  );
}

function Detail({ slug }: { readonly slug: string }) {
  const organisation = useOrganisation(slug);
  const { data: found = null } = organisation;
  return (
    <>
      <PageHeader
        title={found?.name ?? slug}
        above={{ to: '/operator', title: operatorMessages.title }}
      >
        {found !== null && (
          <>
            <OwnerPill owner={found.owner} />
            <ActButton slug={slug} />
          </>
        )}
      </PageHeader>
      <Loaded query={organisation}>
        {() =>
          found === null ? (
            <EmptyState inCard icon={Building2} title={text.unknown} text={text.unknownText} />
          ) : (
            <>
              {found.owner === 'fleet' && <Notice kind="info">{text.ofFleet}</Notice>}
              <div className="two">
                <LimitsCard organisation={found} />
                <ThresholdsCard organisation={found} />
              </div>
              <SuggestionsCard slug={slug} />
              <HoldingsCard organisation={found} />
              <ServersCard organisation={found} />
              {/* Last, because it arrives late and would push a button away from a click. */}
              <Suspense fallback={<Loading />}>
                <KindCards organisation={slug} />
              </Suspense>
            </>
          )
        }
      </Loaded>
    </>
  );
}
