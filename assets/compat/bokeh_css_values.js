/*
package = "bokeh"
upstream = """\
BokehJS asks the style sheets for each visual property of each mark at each painting \
(https://github.com/bokeh/bokeh/issues/15286; a cache is proposed in https://github.com/bokeh/bokeh/pull/15205)."""
without = "A painting of all plots takes 12 % longer."
knows = ["server/static/js/bokeh.js:VisualProperties._get_css_value"]
digest = "a9ecd4a7f7cf3eee"
*/
// The style sheets are not asked for each colour of each mark at each painting: none of the page's gives one.
Bokeh.require("core/visuals/visual").VisualProperties.prototype._get_css_value = () => ""
