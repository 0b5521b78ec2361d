// Colours of the map. They are those of theme.css where they mean the same; the map
// cannot read variables of CSS.
export interface Palette {
  water: string;
  land: string;
  border: string;
  country: string;
  halo: string;
  area: string;
  outline: string;
  line: string;
  point: string;
  ring: string;
  label: string;
  found: string;
  selected: string;
  live: string;
  draw: string;
  basemap: { saturation: number; brightness: number };
  /** From nothing to the most, at shares of it. */
  heat: [share: number, colour: string][];
}

export const light: Palette = {
  water: '#dfe7ea',
  land: '#f7f7f4',
  border: '#b9c2c7',
  country: '#6a757e',
  halo: '#ffffff',
  area: '#0b6b75',
  outline: '#5f9299',
  line: '#46808a',
  point: '#0b6b75',
  ring: '#ffffff',
  label: '#1d3a40',
  found: '#b8480a',
  selected: '#b8480a',
  live: '#5b4bb7',
  draw: '#0b57d0',
  basemap: { saturation: -0.3, brightness: 1 },
  heat: [
    [0, 'rgba(11, 107, 117, 0)'],
    [0.04, 'rgba(64, 156, 163, 0.2)'],
    [0.25, 'rgba(42, 140, 149, 0.45)'],
    [0.6, 'rgba(11, 107, 117, 0.8)'],
    [1, 'rgba(4, 52, 60, 0.95)'],
  ],
};

export const dark: Palette = {
  water: '#0b1116',
  land: '#1a242c',
  border: '#3a4750',
  country: '#8b98a2',
  halo: '#10171c',
  area: '#5cc3cd',
  outline: '#3f7b83',
  line: '#4e96a0',
  point: '#5cc3cd',
  ring: '#10171c',
  label: '#cfe3e6',
  found: '#f2995a',
  selected: '#ffb27d',
  live: '#b5a9fb',
  draw: '#8ab4f8',
  basemap: { saturation: -0.5, brightness: 0.55 },
  heat: [
    [0, 'rgba(92, 195, 205, 0)'],
    [0.04, 'rgba(40, 110, 118, 0.25)'],
    [0.25, 'rgba(44, 138, 147, 0.5)'],
    [0.6, 'rgba(92, 195, 205, 0.8)'],
    [1, 'rgba(232, 252, 253, 0.95)'],
  ],
};
