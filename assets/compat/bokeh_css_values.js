// The style sheets are not asked for each colour of each mark at each painting: none of the page's gives one.
Bokeh.require("core/visuals/visual").VisualProperties.prototype._get_css_value = () => ""
