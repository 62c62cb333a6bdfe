import { Anchor } from '@mantine/core';
import { geoMessages } from '../../../messages/geo.ts';

const { sources } = geoMessages;

/** The link that the licence of the data (CC BY 4.0) asks for on pages that use it. */
export function GeoSources() {
  return (
    <p className="dim">
      {sources.lead}{' '}
      <Anchor href="https://db-ip.com" rel="noreferrer" target="_blank" underline="always">
        {sources.dbIp}
      </Anchor>
      {', '}
      <Anchor href="https://www.routeviews.org" rel="noreferrer" target="_blank" underline="always">
        {sources.routeViews}
      </Anchor>
      {'.'}
    </p>
  );
}
